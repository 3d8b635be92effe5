"""Scalar expressions with types: what is left of SQL text once every name is known.

Expressions are frozen and compare by value, so "is this select item one of the grouping keys?" is `==`.
Columns are positions: `InputRef(2)` is the third column of the node's input; a join's input is the left
columns followed by the right ones. `OuterRef(1, 2)` is a column of the query one level further out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from penstock.common.datatypes import DataType

if TYPE_CHECKING:
    from penstock.sql.plan.algebra import Plan

TimeKind = Literal["", "rowtime", "proctime"]
"""Whether a column is a time attribute."""


@dataclass(frozen=True)
class Rex:
    """Base of all expressions."""

    type: DataType

    def children(self) -> tuple[Rex, ...]:
        return ()

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return self


@dataclass(frozen=True)
class InputRef(Rex):
    """A column of the input, by position. Equality ignores nothing: two refs of one column are equal."""

    index: int
    time: TimeKind = ""


@dataclass(frozen=True)
class OuterRef(Rex):
    """A column of an enclosing query: `depth` 1 is the next one outside."""

    depth: int
    index: int
    time: TimeKind = ""


@dataclass(frozen=True)
class Const(Rex):
    """A literal. Intervals are ints (milliseconds or months), times are datetime objects."""

    value: Any


@dataclass(frozen=True)
class TypeRef(Rex):
    """A type in the place of an argument: the target of a CAST."""


@dataclass(frozen=True)
class Call(Rex):
    """A function of the registry, by its upper-case name."""

    name: str
    args: tuple[Rex, ...]

    def children(self) -> tuple[Rex, ...]:
        return self.args

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, args=children)


@dataclass(frozen=True)
class UdfCall(Rex):
    """A user's function: `function` is what the catalog or `create_temporary_function` holds."""

    name: str
    function: Any
    args: tuple[Rex, ...]

    def children(self) -> tuple[Rex, ...]:
        return self.args

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, args=children)


@dataclass(frozen=True)
class SortKey:
    """One item of ORDER BY. NULLs are the smallest value unless the query says otherwise."""

    rex: Rex
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class AggCall(Rex):
    """An aggregate function call; inside a select list it only lives until the aggregate is built.

    `function` is the user's, if it is one.
    """

    name: str
    args: tuple[Rex, ...]
    distinct: bool = False
    filter: Rex | None = None
    order: tuple[SortKey, ...] = ()
    function: Any = None

    def children(self) -> tuple[Rex, ...]:
        extra = () if self.filter is None else (self.filter,)
        return (*self.args, *extra, *(k.rex for k in self.order))

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        n = len(self.args)
        rest = list(children[n:])
        condition = rest.pop(0) if self.filter is not None else None
        order = tuple(replace(k, rex=r) for k, r in zip(self.order, rest, strict=True))
        return replace(self, args=children[:n], filter=condition, order=order)


@dataclass(frozen=True)
class Frame:
    """ROWS or RANGE between two bounds. A bound: None is unbounded, 0 the current row, else an offset.

    Offsets are `Const`; preceding ones have `negative` meaning: they are given as positive values together
    with the side they stand on.
    """

    kind: Literal["ROWS", "RANGE"]
    start: tuple[str, Rex | None]
    end: tuple[str, Rex | None]


@dataclass(frozen=True)
class OverCall(Rex):
    """A function over a window of rows: aggregate, ROW_NUMBER, LAG, …"""

    name: str
    args: tuple[Rex, ...]
    partition: tuple[Rex, ...]
    order: tuple[SortKey, ...]
    frame: Frame | None = None
    distinct: bool = False
    filter: Rex | None = None
    function: Any = None

    def children(self) -> tuple[Rex, ...]:
        extra = () if self.filter is None else (self.filter,)
        return (*self.args, *self.partition, *(k.rex for k in self.order), *extra)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        a, p, o = len(self.args), len(self.partition), len(self.order)
        order = tuple(replace(k, rex=r) for k, r in zip(self.order, children[a + p : a + p + o], strict=True))
        condition = children[-1] if self.filter is not None else None
        return replace(self, args=children[:a], partition=children[a : a + p], order=order, filter=condition)


@dataclass(frozen=True)
class SubqueryRex(Rex):
    """A query inside an expression: kind "scalar", "exists" or "in" (then `left` is compared)."""

    kind: Literal["scalar", "exists", "in"]
    plan: Plan
    left: tuple[Rex, ...] = ()
    negated: bool = False

    def __hash__(self) -> int:
        """Of the little that has one: the options of a plan's tables are a dict."""
        return hash((self.kind, self.left, self.negated))

    def children(self) -> tuple[Rex, ...]:
        return self.left

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, left=children)


def walk(rex: Rex) -> Iterator[Rex]:
    """The expression and everything inside it, outermost first; subqueries' plans are not entered."""
    yield rex
    for child in rex.children():
        yield from walk(child)


def transform(rex: Rex, change: Callable[[Rex], Rex | None]) -> Rex:
    """Replaces every expression for which `change` gives another one, from the outside in."""
    changed = change(rex)
    if changed is not None:
        return changed
    children = rex.children()
    if not children:
        return rex
    new = tuple(transform(child, change) for child in children)
    return rex if new == children else rex.with_children(new)


def shift(rex: Rex, by: int) -> Rex:
    """The expression over an input with `by` more columns in front."""
    return transform(rex, lambda r: replace(r, index=r.index + by) if isinstance(r, InputRef) else None)


def conjuncts(rex: Rex) -> list[Rex]:
    """The parts of an AND, flattened."""
    if isinstance(rex, Call) and rex.name == "AND":
        return [part for arg in rex.args for part in conjuncts(arg)]
    return [rex]
