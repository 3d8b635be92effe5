"""Projections and filters, and the queries inside them, which become joins.

    WHERE EXISTS (SELECT … WHERE s.k = t.k)      semi join on s.k = t.k
    WHERE x NOT IN (SELECT y …)                  anti join on x = y, unknown counting as a match
    SELECT x IN (SELECT y …)                     counts, see memberships.py
    SELECT (SELECT COUNT(*) … WHERE s.k = t.k)   left join with the aggregate grouped by s.k
    CROSS JOIN LATERAL (SELECT … WHERE s.k = t.k)   inner join on s.k = t.k

A correlated query is *lifted*: the conditions that mention the outer query leave it and become the join's, the
columns they need are carried up to its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError
from penstock.sql.plan.algebra import Aggregate, Correlate, Field, Filter, Join, Plan, Project
from penstock.sql.plan.plan_rexes import contains_subquery, has_outer
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    InputRef,
    OuterRef,
    Rex,
    SubqueryRex,
    conjuncts,
    transform,
    walk,
)
from penstock.sql.streaming.memberships import as_counts
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.upserts import filtered_upserts

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner

_BOOLEAN = DataTypes.BOOLEAN()


def plan_project(planner: Planner, plan: Project) -> Stream:
    from penstock.sql.streaming.planner import linear_project

    if isinstance(plan.input, Filter):
        used = {r.index for e in plan.exprs for r in walk(e) if isinstance(r, InputRef)}
        planner.wanted[id(plan.input)] = used
    stream = planner.plan(plan.input)
    planner.wanted.pop(id(plan.input), None)
    if not any(contains_subquery(e) for e in plan.exprs):
        return linear_project(stream, plan)
    exprs = list(plan.exprs)
    stream, exprs = _scalars(planner, stream, exprs)
    return linear_project(stream, replace(plan, exprs=tuple(exprs)))


def plan_filter(planner: Planner, plan: Filter) -> Stream:
    from penstock.sql.streaming.ranks import plan_rank

    ranked = plan_rank(planner, plan)
    if ranked is not None:
        return ranked
    upserts = filtered_upserts(planner, plan)
    if upserts is not None:
        return upserts
    stream = planner.plan(plan.input)
    if not contains_subquery(plan.condition):
        return _filtered(stream, [plan.condition])
    plain: list[Rex] = []
    for item in conjuncts(plan.condition):
        query = _membership(item)
        if query is not None:
            stream = _semi_join(planner, stream, query)
        else:
            plain.append(item)
    width = len(plan.fields)
    wide, plain = _scalars(planner, stream, plain)
    result = _filtered(wide, plain)
    if wide.width == width:
        return result
    return result.project(plan.fields, [InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields)])


def _filtered(stream: Stream, conditions: Sequence[Rex]) -> Stream:
    if not conditions:
        return stream
    from penstock.sql.streaming.planner import with_watermark

    condition = with_watermark(_and(conditions), stream)
    return stream.over(Filter(stream.plan.fields, stream.plan, condition))


def _and(conditions: Sequence[Rex]) -> Rex:
    return conditions[0] if len(conditions) == 1 else Call(_BOOLEAN, "AND", tuple(conditions))


def _membership(item: Rex) -> SubqueryRex | None:
    """EXISTS and IN, negated or not, as a condition of its own."""
    if isinstance(item, SubqueryRex) and item.kind in ("exists", "in"):
        return item
    if isinstance(item, Call) and item.name == "NOT" and len(item.args) == 1:
        inner = _membership(item.args[0])
        return None if inner is None else replace(inner, negated=not inner.negated)
    return None


# --- lifting ----------------------------------------------------------------------------------------------


@dataclass
class Lifted:
    """A query without its correlated conditions; these refer to its columns and, as OuterRef, to the outer ones."""

    plan: Plan
    conditions: list[Rex]


def lift(plan: Plan, shown_matters: bool = True) -> Lifted:
    if not has_outer(plan):
        return Lifted(plan, [])
    if isinstance(plan, Filter):
        below = lift(plan.input)
        own = conjuncts(plan.condition)
        outer = [c for c in own if _is_outer(c)]
        inner = [c for c in own if not _is_outer(c)]
        kept = below.plan if not inner else Filter(below.plan.fields, below.plan, _and(inner))
        return Lifted(kept, [*below.conditions, *outer])
    if isinstance(plan, Project):
        return _lift_project(plan, shown_matters)
    if isinstance(plan, Aggregate):
        return _lift_aggregate(plan)
    raise NotSupportedError(
        f"a correlated subquery through {plan.describe()}", "it cannot be turned into a join"
    )


def _is_outer(rex: Rex) -> bool:
    if any(isinstance(r, SubqueryRex) and has_outer(r.plan, 2) for r in walk(rex)):
        raise NotSupportedError("a subquery correlated over two levels", "it cannot be turned into a join")
    return any(isinstance(r, OuterRef) for r in walk(rex))


def _lift_project(plan: Project, shown_matters: bool) -> Lifted:
    below = lift(plan.input)
    exprs: list[Rex] = []
    for rex in plan.exprs:
        if _is_outer(rex):
            if shown_matters:
                raise NotSupportedError(
                    "an outer column in the select list of a subquery", "it cannot be turned into a join"
                )
            rex = Const(DataTypes.INT(False), 1)
        exprs.append(rex)
    fields = list(plan.fields)
    places: dict[int, int] = {}

    def carry(part: Rex) -> Rex | None:
        if not isinstance(part, InputRef):
            return None
        if part.index not in places:
            places[part.index] = len(exprs)
            exprs.append(part)
            fields.append(Field(f"$k{part.index}", part.type))
        return replace(part, index=places[part.index])

    conditions = [transform(c, carry) for c in below.conditions]
    typed = tuple(replace(f, type=e.type) for f, e in zip(fields, exprs, strict=True))
    return Lifted(Project(typed, below.plan, tuple(exprs)), conditions)


def _lift_aggregate(plan: Aggregate) -> Lifted:
    """An aggregate per value of the correlated columns: these become grouping keys, behind the given columns."""
    below = lift(plan.input)
    if plan.grouping_sets is not None:
        raise NotSupportedError("grouping sets in a correlated subquery", "they cannot be turned into a join")
    added: list[Rex] = []
    conditions: list[Rex] = []
    first = len(plan.keys)
    for condition in below.conditions:
        inner, outer = _equality(condition)
        if inner not in added:
            added.append(inner)
        at = first + added.index(inner)
        conditions.append(Call(condition.type, "=", (InputRef(inner.type, at), outer)))
    keys = (*plan.keys, *added)
    key_fields = [Field(f"$k{i}", k.type) for i, k in enumerate(added)]
    fields = (*plan.fields[:first], *key_fields, *plan.fields[first:])
    aggregate = Aggregate(fields, below.plan, keys, plan.calls)
    # The columns in their former order, the added keys last.
    order = [*range(first), *range(first + len(added), len(fields)), *range(first, first + len(added))]
    back = {at: new for new, at in enumerate(order)}
    shown = Project(
        tuple(fields[i] for i in order), aggregate, tuple(InputRef(fields[i].type, i) for i in order)
    )
    moved = [_moved(c, back) for c in conditions]
    return Lifted(shown, moved)


def _moved(rex: Rex, places: dict[int, int]) -> Rex:
    return transform(rex, lambda r: replace(r, index=places[r.index]) if isinstance(r, InputRef) else None)


def _equality(condition: Rex) -> tuple[Rex, Rex]:
    """(inner side, outer side) of an equality."""
    if isinstance(condition, Call) and condition.name == "=":
        first, second = condition.args
        for inner, outer in ((first, second), (second, first)):
            if not _is_outer(inner) and not any(isinstance(r, InputRef) for r in walk(outer)):
                return inner, outer
    raise NotSupportedError(
        "a correlated aggregate with a condition that is not an equality", "it cannot be turned into a join"
    )


# --- joins ------------------------------------------------------------------------------------------------


def _condition(stream: Stream, conditions: Sequence[Rex]) -> Rex | None:
    """Lifted conditions as a join condition: the outer query is the left input."""
    width = stream.width

    def place(part: Rex) -> Rex | None:
        if isinstance(part, OuterRef):
            return InputRef(part.type, part.index, part.time)
        if isinstance(part, InputRef):
            return InputRef(part.type, width + part.index, part.time)
        return None

    placed = [transform(c, place) for c in conditions]
    return _and(placed) if placed else None


def _semi_join(planner: Planner, stream: Stream, query: SubqueryRex) -> Stream:
    from penstock.sql.streaming.joins import join_streams

    lifted = lift(query.plan, shown_matters=query.kind == "in")
    right = planner.plan(lifted.plan)
    condition = _condition(stream, lifted.conditions)
    compared: list[Rex] = []
    for i, item in enumerate(query.left):
        column = InputRef(query.plan.fields[i].type, stream.width + i)
        compared.append(Call(_BOOLEAN, "=", (item, column)))
    null_aware = query.negated and query.kind == "in" and _may_be_null(query)
    if null_aware:
        # "x = y OR unknown" decides row by row, so the comparison must not be a key.
        compared = [Call(_BOOLEAN, "AND", (Const(_BOOLEAN, True), c)) for c in compared]
        compared = [Call(_BOOLEAN, "OR", (_and(compared), Const(_BOOLEAN, False)))]
    parts = [*([] if condition is None else [condition]), *compared]
    kind: Any = "anti" if query.negated else "semi"
    plan = Join(stream.fields, stream.plan, right.plan, kind, _and(parts) if parts else None)
    joined = join_streams(planner, replace(stream, window=None), right, plan, null_aware=null_aware)
    return replace(joined, window=None)


def _may_be_null(query: SubqueryRex) -> bool:
    return any(r.type.is_nullable for r in query.left) or any(f.type.is_nullable for f in query.plan.fields)


def _scalars(planner: Planner, stream: Stream, exprs: Sequence[Rex]) -> tuple[Stream, list[Rex]]:
    """Joins the scalar subqueries of expressions to the stream; the expressions then read joined columns."""
    found: dict[int, Rex] = {}
    for rex in exprs:
        for part in walk(rex):
            if isinstance(part, SubqueryRex) and id(part) not in found:
                if part.kind == "scalar":
                    stream, found[id(part)] = _scalar(planner, stream, part)
                else:
                    stream, [found[id(part)]] = _scalars(planner, stream, [as_counts(part)])
    return stream, [transform(e, lambda r: found.get(id(r))) for e in exprs]


def _scalar(planner: Planner, stream: Stream, query: SubqueryRex) -> tuple[Stream, Rex]:
    """A correlated COUNT is 0 where nothing matches; an uncorrelated one over no rows has no row yet, so NULL."""
    from penstock.sql.streaming.joins import join_streams

    core, value = _value_of(query.plan)
    lifted = lift(core)
    right = planner.plan(lifted.plan)
    width = stream.width
    fields = (*stream.fields, *(replace(f, type=f.type.nullable()) for f in right.fields))
    plan = Join(fields, stream.plan, right.plan, "left", _condition(stream, lifted.conditions))
    joined = join_streams(planner, replace(stream, window=None), right, plan)

    def place(part: Rex) -> Rex | None:
        if not isinstance(part, InputRef):
            return None
        ref = InputRef(part.type.nullable(), width + part.index)
        call = core.calls[part.index - len(core.keys)] if isinstance(core, Aggregate) else None
        if lifted.conditions and call is not None and call.name == "COUNT":
            return Call(part.type, "COALESCE", (ref, Const(part.type, 0)))
        return ref

    return joined, transform(value, place)


def _value_of(plan: Plan) -> tuple[Plan, Rex]:
    """The aggregate of a scalar subquery and the value over it; of other queries, their single row."""
    if isinstance(plan, Project) and isinstance(plan.input, Aggregate) and not plan.input.keys:
        return plan.input, plan.exprs[0]
    if isinstance(plan, Aggregate) and not plan.keys:
        return plan, InputRef(plan.fields[0].type, 0)
    column = plan.fields[0]
    call = AggCall(column.type.nullable(), "SINGLE_VALUE", (InputRef(column.type, 0),))
    single = Aggregate((Field(column.name, call.type),), plan, (), (call,))
    return single, InputRef(call.type, 0)


def plan_correlate(planner: Planner, plan: Correlate) -> Stream:
    """LATERAL: the right query joined on its lifted conditions, its select list computed behind the join."""
    from penstock.sql.streaming.joins import join_streams

    left = planner.plan(plan.left)
    core, shown = _select_list(plan)
    lifted = lift(core)
    right = planner.plan(lifted.plan)
    conditions = [] if (found := _condition(left, lifted.conditions)) is None else [found]
    width = left.width
    values = [_over_join(rex, width) for rex in shown]
    if plan.condition is not None:
        every = [*left.refs(), *values]
        conditions.append(
            transform(plan.condition, lambda r: every[r.index] if isinstance(r, InputRef) else None)
        )
    pad = right.fields
    if plan.kind == "left":
        pad = tuple(replace(f, type=f.type.nullable()) for f in pad)
    join = Join(
        (*left.fields, *pad), left.plan, right.plan, plan.kind, _and(conditions) if conditions else None
    )
    joined = join_streams(planner, left, right, join)
    return joined.project(plan.fields, [*left.refs(), *values])


def _select_list(plan: Correlate) -> tuple[Plan, list[Rex]]:
    """The right query without a select list that mentions the outer query, and that list."""
    right = plan.right
    if isinstance(right, Project) and any(_is_outer(e) for e in right.exprs) and plan.kind == "inner":
        return right.input, list(right.exprs)
    return right, [InputRef(f.type, i, f.time) for i, f in enumerate(right.fields)]


def _over_join(rex: Rex, width: int) -> Rex:
    def place(part: Rex) -> Rex | None:
        if isinstance(part, OuterRef):
            return InputRef(part.type, part.index, part.time)
        return replace(part, index=width + part.index) if isinstance(part, InputRef) else None

    return transform(rex, place)
