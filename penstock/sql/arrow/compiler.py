"""From typed expressions to nodes: one registry of builders.

A builder makes the node of one kind of expression, or of one function by its upper-case name:

    def build_not(call: Call, compiler: Compiler) -> Node:
        return apply(pc.invert, pa.bool_(), compiler.node(call.args[0]))

    register("NOT", build_not)

The value has to be what the Spark SQL text of the function gives, for every input. Where that cannot be had a builder
raises `NoArrowForm`, and Catalyst evaluates the whole expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.formats.arrow_rows import arrow_type
from penstock.sql.arrow.nodes import Column, Constant, Node, Shared
from penstock.sql.arrow.zones import fixed_offset
from penstock.sql.plan.rex import Call, InputRef, Rex


class NoArrowForm(Exception):
    """The expression, or the part of it that the message names, is left to Catalyst."""


Builder = Callable[[Any, "Compiler"], Node]

_BUILDERS: dict[type[Rex] | str, Builder] = {}


def register(what: type[Rex] | str, builder: Builder, *aliases: str) -> None:
    """Says how a kind of expression, or the function of that name, is built. The latest word counts."""
    for key in (what, *aliases):
        _BUILDERS[key] = builder


def supported() -> list[str]:
    """The names of the functions that have a builder."""
    return sorted(key for key in _BUILDERS if isinstance(key, str))


class Compiler:
    """Builds the nodes of expressions over one input; a call that is asked for twice is evaluated once.

    Args:
        zone: The session's time zone; None if it is not known, then nothing that depends on it has a form.
    """

    def __init__(self, zone: str | None) -> None:
        self._zone = zone
        self._calls: dict[str, Shared] = {}

    def node(self, rex: Rex) -> Node:
        """The node of an expression.

        Raises:
            NoArrowForm: There is none that gives exactly what Spark does.
        """
        if not isinstance(rex, Call):
            return self._built(rex)
        key = repr(rex)  # `==` takes 0.0 and -0.0 for the same
        if key in self._calls:
            self._calls[key].uses[0] += 1
        else:
            node = self._built(rex)
            if isinstance(node, (Constant, Column, Shared)):
                return node
            self._calls[key] = Shared(node.type, node.may_fail, node, [1])
        return self._calls[key]

    def _built(self, rex: Rex) -> Node:
        builder = _BUILDERS.get(rex.name) if isinstance(rex, Call) else _BUILDERS.get(type(rex))
        if builder is None:
            raise NoArrowForm(rex.name if isinstance(rex, Call) else type(rex).__name__)
        node = builder(rex, self)
        if node.type != type_of(rex):
            raise NoArrowForm(f"{rex} gives {node.type}")
        return node

    def nodes(self, exprs: Sequence[Rex]) -> list[Node]:
        return [self.node(rex) for rex in exprs]

    @property
    def zone(self) -> str:
        """The session's time zone."""
        if self._zone is None:
            raise NoArrowForm("a time zone that is not known")
        return self._zone

    @property
    def offset_micros(self) -> int:
        """How far the session's clock is ahead of UTC.

        Zones whose offset changes are left to Catalyst: Java has its own time zone database, and where its version
        is not the one of this machine they disagree.
        """
        offset = None if self._zone is None else fixed_offset(self._zone)
        if offset is None:
            raise NoArrowForm(f"time zone {self._zone}")
        return offset * 1_000_000


def type_of(rex: Rex) -> pa.DataType:
    """The Arrow type of an expression."""
    from penstock.common.errors import NotSupportedError

    try:
        return arrow_type(rex.type)
    except NotSupportedError as error:
        raise NoArrowForm(str(error)) from None


def _column(rex: InputRef, compiler: Compiler) -> Node:
    return Column(type_of(rex), False, rex.index)


register(InputRef, _column)
