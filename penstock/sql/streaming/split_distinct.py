"""GROUP BY k with COUNT(DISTINCT x), in two steps, so that a hot key is not the work of one subtask.

    SELECT k, COUNT(DISTINCT x), MAX(y) FROM t GROUP BY k
    ->
    SELECT k, SUM(n), MAX(m) FROM (
        SELECT k, bucket(x), COUNT(DISTINCT x) AS n, MAX(y) AS m FROM t GROUP BY k, bucket(x)) GROUP BY k

Equal values are in the same bucket, so the counts of the buckets add up.
"""

from __future__ import annotations

from penstock.common.datatypes import DataTypes
from penstock.delta.columns import can_group
from penstock.sql.plan.algebra import Aggregate, Field
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex

_MERGED = {"COUNT": "$SUM0", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX"}
"""What makes one result of those of the buckets."""


def split_distinct(plan: Aggregate, buckets: int) -> tuple[Aggregate, Aggregate] | None:
    """The aggregate of the buckets and that over them; None if the aggregate cannot be split."""
    distinct = {call.args for call in plan.calls if call.distinct and call.name not in ("MIN", "MAX")}
    if len(distinct) != 1 or not all(map(_can_be_merged, plan.calls)):
        return None
    ((value, *others),) = distinct
    if others or not can_group([value.type]):
        return None
    width = len(plan.keys)
    bucket = Call(DataTypes.INT(False), "$BUCKET", (value, Const(DataTypes.INT(False), buckets)))
    fields = (*plan.fields[:width], Field("$bucket", bucket.type), *plan.fields[width:])
    parts = Aggregate(fields, plan.input, (*plan.keys, bucket), plan.calls, ttl_ms=plan.ttl_ms)
    keys: tuple[Rex, ...] = tuple(InputRef(key.type, i) for i, key in enumerate(plan.keys))
    calls = tuple(
        AggCall(call.type, _MERGED[call.name], (InputRef(call.type, width + 1 + i),))
        for i, call in enumerate(plan.calls)
    )
    return parts, Aggregate(plan.fields, parts, keys, calls, ttl_ms=plan.ttl_ms)


def _can_be_merged(call: AggCall) -> bool:
    return call.name in _MERGED and call.function is None and not call.order
