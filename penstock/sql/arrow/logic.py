"""AND, OR, NOT and the tests for truth and NULL, in three-valued logic.

AND evaluates what may fail only for rows that are not false yet, OR for those that are not true yet, from
left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import BooleanType, NullType
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register
from penstock.sql.arrow.nodes import Apply, Batch, Node, apply, merged
from penstock.sql.arrow.values import Datum, array
from penstock.sql.plan.rex import Call, Rex


@dataclass(frozen=True, eq=False)
class _Chain(Node):
    """AND or OR of two parts of which the right one may fail; `decisive` is what ends the search."""

    decisive: bool
    left: Node
    right: Node

    def evaluate(self, batch: Batch) -> Datum:
        left = array(self.left.evaluate(batch), batch.rows)
        open_ = np.asarray(left.fill_null(not self.decisive)) != self.decisive
        if open_.all():
            return connected(self.decisive, left, self.right.evaluate(batch))
        rows, rest = np.flatnonzero(open_), np.flatnonzero(~open_)
        decided = (rest, pa.scalar(self.decisive))
        if not len(rows):
            return left
        part = connected(self.decisive, left.take(pa.array(rows)), self.right.evaluate(batch.take(rows)))
        return merged([(rows, part), decided], batch.rows)


def connected(decisive: bool, left: Datum, right: Datum) -> Datum:
    """AND, decided by a false, or OR, decided by a true.

    >>> connected(False, pa.array([None, None]), pa.array([False, True])).to_pylist()
    [False, None]
    """
    return (pc.or_kleene if decisive else pc.and_kleene)(*(_boolean(d) for d in (left, right)))


def _boolean(datum: Datum) -> Datum:
    return datum.cast(pa.bool_()) if datum.type == pa.null() else datum


def chain(decisive: bool, nodes: Sequence[Node]) -> Node:
    """The nodes connected from left to right."""
    found = nodes[0]
    for node in nodes[1:]:
        if node.may_fail:
            found = _Chain(pa.bool_(), True, decisive, found, node)
        else:
            found = apply(partial(connected, decisive), pa.bool_(), found, node)
    return found


def negated(node: Node) -> Apply:
    return apply(pc.invert, pa.bool_(), node)


def boolean(rex: Rex, compiler: Compiler) -> Node:
    """A condition; a bare NULL is unknown."""
    if not isinstance(rex.type, (BooleanType, NullType)):
        raise NoArrowForm(f"{rex.type} as a condition")
    return cast_node(compiler.node(rex), rex.type, BooleanType(), compiler)


def build_chain(call: Call, compiler: Compiler) -> Node:
    return chain(call.name == "OR", [boolean(arg, compiler) for arg in call.args])


def build_not(call: Call, compiler: Compiler) -> Node:
    return negated(boolean(call.args[0], compiler))


def _is(truth: bool, opposite: bool, datum: pa.Array) -> pa.Array:
    """Whether a value is that truth value, or the opposite of this."""
    found = datum.fill_null(not truth)
    return found if truth != opposite else pc.invert(found)


def build_truth(truth: bool, opposite: bool, call: Call, compiler: Compiler) -> Node:
    return apply(partial(_is, truth, opposite), pa.bool_(), boolean(call.args[0], compiler))


def build_null_test(kernel: str, call: Call, compiler: Compiler) -> Node:
    return apply(partial(_test, kernel), pa.bool_(), compiler.node(call.args[0]))


def _test(kernel: str, datum: pa.Array) -> pa.Array:
    return datum.is_null() if kernel == "is_null" else datum.is_valid()


register("AND", build_chain)
register("OR", build_chain)
register("NOT", build_not)
for _truth in (True, False):
    register(f"IS {str(_truth).upper()}", partial(build_truth, _truth, False))
    register(f"IS NOT {str(_truth).upper()}", partial(build_truth, _truth, True))
for _word in ("NULL", "UNKNOWN"):
    register(f"IS {_word}", partial(build_null_test, "is_null"))
    register(f"IS NOT {_word}", partial(build_null_test, "is_valid"))
