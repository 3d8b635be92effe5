"""Joins: the condition is taken apart into equal keys, time bounds and the rest; that decides the operator.

equal window bounds on both sides       WindowJoin        append-only
row times at most so far apart          IntervalJoin      append-only
several in a row on one key             MultiJoin         keeps each input
anything else                           RegularJoin       keeps both sides
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import LocalZonedTimestampType
from penstock.common.errors import ValidationError
from penstock.delta.base import DeltaOperator
from penstock.delta.columns import can_group
from penstock.delta.join import JoinType, RegularJoin
from penstock.sql.plan.algebra import Field, Filter, Join
from penstock.sql.plan.rex import Call, InputRef, Rex
from penstock.sql.plan.rex_text import rex_text
from penstock.sql.streaming.advice import cross_product
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.distribution import of_join
from penstock.sql.streaming.join_conditions import Parts, disorder, take_apart
from penstock.sql.streaming.multi_joins import plan_multi_join
from penstock.sql.streaming.physical import DeltaNode, Stream
from penstock.sql.streaming.residual import Residual, prepare, resolve
from penstock.sql.streaming.state_text import column_names
from penstock.sql.streaming.time_bounds import TimeBounds, find_bounds

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_join(planner: Planner, plan: Join) -> Stream:
    many = plan_multi_join(planner, plan)
    if many is not None:
        return many
    left, right = planner.plan(plan.left), planner.plan(plan.right)
    return join_streams(planner, left, right, plan)


def join_streams(planner: Planner, left: Stream, right: Stream, plan: Join, **options: Any) -> Stream:
    """A join of two planned inputs."""
    parts = take_apart(plan.condition, left.width)
    if left.window is not None and right.window is not None:
        from penstock.sql.streaming.windows import plan_window_join

        joined = plan_window_join(planner, left, right, plan, parts)
        if joined is not None:
            return joined
    bounds = find_bounds(left, right, plan)
    if bounds is not None and not left.retracts and not right.retracts:
        return _interval_join(planner, left, right, plan, bounds)
    return _regular(planner, left, right, plan, parts, **options)


@dataclass
class Sides:
    """The inputs of a join operator: all columns of each side, then the expressions it needs as columns."""

    left: Stream
    right: Stream
    left_keys: list[int]
    right_keys: list[int]
    residual: Rex | None


def arrange(left: Stream, right: Stream, parts: Parts, in_python: bool) -> Sides:
    columns = InputColumns(left.refs()), InputColumns(right.refs())
    left_keys = [columns[0].place(r) for r in parts.left]
    right_keys = [columns[1].place(r) for r in parts.right]
    residual = None
    if parts.rest and in_python:
        prepared = [prepare(r, left.width, columns) for r in parts.rest]
        residual = resolve(all_of(prepared), len(columns[0].rexes))
    return Sides(columns[0].of(left), columns[1].of(right), left_keys, right_keys, residual)


def all_of(items: list[Rex]) -> Rex:
    return items[0] if len(items) == 1 else Call(items[0].type, "AND", tuple(items))


def _regular(
    planner: Planner, left: Stream, right: Stream, plan: Join, parts: Parts, null_aware: bool = False
) -> Stream:
    inner = plan.kind == "inner"
    if not parts.left and plan.kind not in ("semi", "anti"):
        planner.warnings += cross_product(plan, left, right)
    sides = arrange(left, right, parts, in_python=not inner)
    ttl_ms = planner.ttl_ms(plan.ttl_ms[0]), planner.ttl_ms(plan.ttl_ms[1], 1)
    operator = _regular_operator(plan, sides, parts, ttl_ms, null_aware)
    retracts = left.retracts or right.retracts or plan.kind not in ("inner", "semi")
    untimed = replace(plan, fields=tuple(replace(f, time="") for f in plan.fields))
    joined = finish(planner, untimed, operator, sides, left, right, retracts)
    if inner and parts.rest:
        joined = joined.over(Filter(joined.plan.fields, joined.plan, all_of(parts.rest)))
    return joined


def _regular_operator(
    plan: Join, sides: Sides, parts: Parts, ttl_ms: tuple[int, int], null_aware: bool
) -> DeltaOperator:
    """On columns, unless rows have to be looked at: by a residual, for their keys, or for their age."""
    keys = [rex.type for rex in parts.left]
    if (
        sides.residual is None
        and ttl_ms == (0, 0)
        and can_group(keys)
        and sides.left.width
        and sides.right.width
    ):
        from penstock.delta.columnar.join import ColumnarJoin

        return ColumnarJoin(
            JoinType(plan.kind),
            sides.left_keys,
            sides.right_keys,
            left_types=[f.type for f in sides.left.fields],
            right_types=[f.type for f in sides.right.fields],
            null_safe=parts.null_safe,
            left_retracts=sides.left.retracts,
            right_retracts=sides.right.retracts,
        )
    return RegularJoin(
        JoinType(plan.kind),
        sides.left_keys,
        sides.right_keys,
        left_width=sides.left.width,
        right_width=sides.right.width,
        null_safe=parts.null_safe,
        residual=None if sides.residual is None else Residual(sides.residual),
        null_aware=null_aware,
        left_state_ttl_ms=ttl_ms[0],
        right_state_ttl_ms=ttl_ms[1],
    )


def finish(
    planner: Planner,
    plan: Join,
    operator: DeltaOperator,
    sides: Sides,
    left: Stream,
    right: Stream,
    retracts: bool,
) -> Stream:
    """The operator's node, and its result without the helper columns."""
    one_sided = plan.kind in ("semi", "anti")
    made = [*sides.left.fields] if one_sided else [*sides.left.fields, *sides.right.fields]
    fields = [Field(f"j{i}", f.type.nullable(), f.time) for i, f in enumerate(made)]
    result = planner.delta(
        plan.title, operator, [sides.left, sides.right], fields,
        retracts=retracts, updated_by=plan.title if retracts else "", detail=_detail(sides),
    )  # fmt: skip
    [node] = result.nodes
    assert isinstance(node, DeltaNode)
    node.distributed = of_join(plan.kind, sides.left_keys, sides.right_keys, sides.left.width)
    shown = list(range(left.width))
    if not one_sided:
        shown += [sides.left.width + i for i in range(right.width)]
    exprs = [InputRef(f.type, at, f.time) for f, at in zip(plan.fields, shown, strict=True)]
    # Rows went to the subtask of their join key. If that may change for a row, its changes come from two subtasks, in
    # any order, and its key identifies it no longer.
    stays = frozenset(key for key in left.keys if key.issuperset(sides.left_keys))
    return result.project(
        plan.fields,
        exprs,
        keys=stays if one_sided else frozenset(),
        disordered_by=disorder(
            plan.title, (left, right), (sides.left, sides.right), (sides.left_keys, sides.right_keys)
        ),
    )


def _detail(sides: Sides) -> str:
    """The keys and what else is compared, for EXPLAIN."""
    sides_names = column_names(sides.left), column_names(sides.right)
    texts = []
    for label, names, keys in zip(
        ("leftKey", "rightKey"), sides_names, (sides.left_keys, sides.right_keys), strict=True
    ):
        texts += [f"{label}=[{', '.join(names[at] for at in keys)}]"] if keys else []
    if sides.residual is not None:
        texts.append(f"where=[{rex_text(sides.residual, [*sides_names[0], *sides_names[1]])}]")
    return ", ".join(texts)


def _interval_join(planner: Planner, left: Stream, right: Stream, plan: Join, bounds: TimeBounds) -> Stream:
    from penstock.delta.time.interval_join import IntervalJoin

    if plan.kind not in ("inner", "left", "right", "full"):
        raise ValidationError(f"an interval join cannot be a {plan.kind} join")
    parts = take_apart(bounds.rest, left.width)
    if plan.kind == "inner" and _columnar(parts, bounds):
        return _columnar_interval_join(planner, left, right, plan, bounds, parts)
    sides = arrange(left, right, parts, in_python=True)
    operator = IntervalJoin(
        JoinType(plan.kind),
        sides.left_keys,
        sides.right_keys,
        bounds.left_time,
        bounds.right_time,
        bounds.lower_ms,
        bounds.upper_ms,
        left_width=sides.left.width,
        right_width=sides.right.width,
        residual=None if sides.residual is None else Residual(sides.residual),
    )
    return finish(planner, replace_name(plan, "IntervalJoin"), operator, sides, left, right, False)


def _columnar(parts: Parts, bounds: TimeBounds) -> bool:
    """Whether rows can meet without being looked at: equal keys that Arrow compares as SQL does, and row times."""
    keys = [rex.type for rex in parts.left]
    timed = bounds.left_time is not None and bounds.right_time is not None
    zoned = any(isinstance(t, LocalZonedTimestampType) for t in keys)
    return timed and bool(keys) and can_group(keys) and not zoned and not any(parts.null_safe)


def _columnar_interval_join(
    planner: Planner, left: Stream, right: Stream, plan: Join, bounds: TimeBounds, parts: Parts
) -> Stream:
    """What is left of the condition is a filter above the join, for Spark."""
    from penstock.delta.columnar.interval_join import ColumnarIntervalJoin

    assert bounds.left_time is not None and bounds.right_time is not None
    sides = arrange(left, right, parts, in_python=False)
    operator = ColumnarIntervalJoin(
        sides.left_keys,
        sides.right_keys,
        bounds.left_time,
        bounds.right_time,
        bounds.lower_ms,
        bounds.upper_ms,
    )
    joined = finish(planner, replace_name(plan, "IntervalJoin"), operator, sides, left, right, False)
    if parts.rest:
        joined = joined.over(Filter(joined.plan.fields, joined.plan, all_of(parts.rest)))
    return joined


@dataclass(frozen=True)
class NamedJoin(Join):
    """A join that EXPLAIN shows under the name of its operator."""

    operator: str = "Join"

    @property
    def title(self) -> str:
        return f"{self.operator}(joinType=[{self.kind}])"


def replace_name(plan: Join, name: str) -> Join:
    return NamedJoin(plan.fields, plan.left, plan.right, plan.kind, plan.condition, operator=name)
