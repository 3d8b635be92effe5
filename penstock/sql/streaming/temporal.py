"""FOR SYSTEM_TIME AS OF: joins with a table as it was at a row's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.errors import ValidationError
from penstock.delta.join import JoinType
from penstock.delta.time.temporal_join import EventTimeTemporalJoin
from penstock.sql.plan.algebra import Join, TemporalJoin
from penstock.sql.plan.rex import InputRef
from penstock.sql.streaming.join_conditions import Parts, take_apart
from penstock.sql.streaming.joins import arrange, finish, replace_name
from penstock.sql.streaming.lookups import plan_lookup_join
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.residual import Residual

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_temporal_join(planner: Planner, plan: TemporalJoin) -> Stream:
    if plan.processing:
        return plan_lookup_join(planner, plan)
    left = planner.plan(plan.left)
    former, planner.each_change = planner.each_change, True
    right = planner.plan(plan.right)
    planner.each_change = former
    if left.retracts:
        raise ValidationError("the left side of a temporal join must be append-only", do="use a regular join")
    if left.fields[plan.time].time != "rowtime":
        raise ValidationError(
            f"FOR SYSTEM_TIME AS OF needs a time attribute, but '{left.fields[plan.time].name}' is an ordinary "
            "timestamp here",
            do="put the temporal join below the join or aggregate",
        )
    parts = take_apart(plan.condition, left.width)
    time = _version_time(right, parts)
    sides = arrange(left, right, parts, in_python=True)
    operator = EventTimeTemporalJoin(
        JoinType(plan.kind),
        sides.left_keys,
        sides.right_keys,
        plan.time,
        time,
        right_width=sides.right.width,
        residual=None if sides.residual is None else Residual(sides.residual),
    )
    as_join = Join(plan.fields, plan.left, plan.right, plan.kind, plan.condition)
    return finish(planner, replace_name(as_join, "TemporalJoin"), operator, sides, left, right, False)


def _version_time(right: Stream, parts: Parts) -> int:
    """The row time of the versions; refuses tables that have no versions."""
    times = [i for i, f in enumerate(right.fields) if f.time == "rowtime"]
    if not times or not right.keys:
        raise ValidationError(
            "temporal table join requires a versioned table, with primary key and row time, on the right",
            do="declare PRIMARY KEY … NOT ENFORCED and WATERMARK FOR …, or deduplicate by row time in a view",
        )
    compared = {r.index for r in parts.right if isinstance(r, InputRef)}
    if not any(key <= compared for key in right.keys):
        raise ValidationError(
            "temporal table join requires an equality condition on the primary key of the versioned table",
            do="compare all key columns in the ON clause",
        )
    return times[0]
