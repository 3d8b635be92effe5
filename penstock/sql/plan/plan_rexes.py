"""Reaches every expression of a plan node, whatever field it sits in.

Rewrites that follow columns (correlated subqueries, pruning, rendering of dependencies) need all expressions
of a node without knowing the node's class. Dataclass fields are looked through by value: an expression, a
sort key, or tuples of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from penstock.sql.functions import FUNCTIONS
from penstock.sql.plan.algebra import Plan
from penstock.sql.plan.rex import (
    Call,
    InputRef,
    OuterRef,
    Rex,
    SortKey,
    SubqueryRex,
    UdfCall,
    transform,
    walk,
)


def rexes(plan: Plan) -> Iterator[Rex]:
    """The expressions of this node alone."""
    for field in dataclasses.fields(plan):
        yield from _inside(getattr(plan, field.name))


def _inside(value: Any) -> Iterator[Rex]:
    if isinstance(value, Rex):
        yield value
    elif isinstance(value, SortKey):
        yield value.rex
    elif isinstance(value, tuple):
        for item in value:
            yield from _inside(item)


def map_rexes(plan: Plan, change: Callable[[Rex], Rex]) -> Plan:
    """The node with every expression replaced; inputs stay."""
    changes = {}
    for field in dataclasses.fields(plan):
        old = getattr(plan, field.name)
        new = _map_inside(old, change)
        if new is not old:
            changes[field.name] = new
    return dataclasses.replace(plan, **changes) if changes else plan


def _map_inside(value: Any, change: Callable[[Rex], Rex]) -> Any:
    if isinstance(value, Rex):
        return change(value)
    if isinstance(value, SortKey):
        return dataclasses.replace(value, rex=change(value.rex))
    if isinstance(value, tuple) and value:
        new = tuple(_map_inside(item, change) for item in value)
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value


def map_outer(plan: Plan, change: Callable[[OuterRef], Rex], depth: int = 1) -> Plan:
    """Replaces the references that leave `depth` levels of queries."""
    from penstock.sql.plan.algebra import Correlate

    if isinstance(plan, Correlate):
        left, right = plan.inputs
        plan = plan.with_inputs((map_outer(left, change, depth), map_outer(right, change, depth + 1)))
    elif plan.inputs:
        plan = plan.with_inputs(tuple(map_outer(child, change, depth) for child in plan.inputs))
    return map_rexes(plan, lambda rex: map_outer_rex(rex, change, depth))


def map_outer_rex(rex: Rex, change: Callable[[OuterRef], Rex], depth: int) -> Rex:
    """The same inside one expression; `depth` 0 means: in the subqueries of this expression."""

    def visit(part: Rex) -> Rex | None:
        if isinstance(part, OuterRef):
            return change(part) if part.depth == depth else part
        if isinstance(part, SubqueryRex):
            left = tuple(map_outer_rex(item, change, depth) for item in part.left)
            return dataclasses.replace(part, left=left, plan=map_outer(part.plan, change, depth + 1))
        return None

    return transform(rex, visit)


def has_outer(plan: Plan, depth: int = 1) -> bool:
    """Whether the plan refers to the query `depth` levels outside of it."""
    found: list[OuterRef] = []

    def note(ref: OuterRef) -> Rex:
        found.append(ref)
        return ref

    map_outer(plan, note, depth)
    return bool(found)


def unstable_call(rex: Rex) -> str | None:
    """The name of the function, if this is a call that may give something else when asked again."""
    if isinstance(rex, Call):
        function: Any = FUNCTIONS.get(rex.name)
    elif isinstance(rex, UdfCall):
        function = rex.function
    else:
        return None
    return rex.name if not getattr(function, "deterministic", True) else None


def contains_subquery(rex: Rex) -> bool:
    return any(isinstance(part, SubqueryRex) for part in walk(rex))


def as_outer(rex: Rex) -> Rex:
    """The expression as seen from inside the subquery: one level further out."""

    def lift(part: Rex) -> Rex | None:
        if isinstance(part, InputRef):
            return OuterRef(part.type, 1, part.index, part.time)
        if isinstance(part, OuterRef):
            return dataclasses.replace(part, depth=part.depth + 1)
        return None

    return transform(rex, lift)
