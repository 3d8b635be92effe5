"""ORDER BY and LIMIT over a stream: by time, or with a limit; anything else has no end to wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.delta.base import DeltaOperator
from penstock.delta.limit import Limit
from penstock.delta.sort_limit import SortLimit
from penstock.delta.sort_time import SortEpoch, SortTime
from penstock.sql.plan.algebra import Filter, Sort
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, SortKey
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.physical import Stream

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_sort(planner: Planner, plan: Sort) -> Stream:
    stream = planner.plan(plan.input)
    if plan.fetch == 0:
        never = Const(DataTypes.BOOLEAN(False), False)
        return stream.over(Filter(stream.plan.fields, stream.plan, never))
    columns = InputColumns(stream.refs())
    order = sort_order(plan.keys, columns)
    operator, updating = _operator(planner, plan, stream, order)
    wide = columns.of(stream)
    result = planner.delta(
        plan.describe(), operator, [wide], wide.fields,
        retracts=updating, keys=stream.keys, updated_by=plan.describe() if updating else "",
    )  # fmt: skip
    return result.project(plan.fields, [InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields)])


def _operator(
    planner: Planner, plan: Sort, stream: Stream, order: list[tuple[int, bool]]
) -> tuple[DeltaOperator, bool]:
    if plan.fetch is not None:
        if not order and not stream.retracts:
            return Limit(plan.fetch, plan.offset), False
        sort = SortLimit(
            order,
            limit=plan.fetch,
            offset=plan.offset,
            input_retracts=stream.retracts,
            state_ttl_ms=planner.state_ttl_ms,
        )
        return sort, True
    if planner.one_epoch:
        return SortEpoch(order, plan.offset), False
    first = plan.keys[0].rex if plan.keys else None
    by_time = isinstance(first, InputRef) and stream.fields[first.index].time
    if by_time and not plan.keys[0].descending and not stream.retracts and not plan.offset:
        assert isinstance(first, InputRef)
        if by_time == "proctime":
            return SortEpoch(order[1:]), False
        return SortTime(first.index, order[1:]), False
    if not plan.keys:
        raise ValidationError("OFFSET without FETCH or LIMIT has no end in streaming mode", do="add a LIMIT")
    raise ValidationError(
        "sort on a non-time-attribute field is not supported in streaming mode",
        do="sort by the row time ascending first, or add a LIMIT",
    )


def sort_order(keys: tuple[SortKey, ...], columns: InputColumns) -> list[tuple[int, bool]]:
    """ORDER BY as (column, ascending) pairs; NULL is the smallest value, which nothing else is offered for."""
    order = []
    for key in keys:
        if key.nulls_first == key.descending:
            order.append((columns.place(_null_rank(key)), True))
        order.append((columns.place(key.rex), not key.descending))
    return order


def _null_rank(key: SortKey) -> Rex:
    """A column before the key that brings NULLs to the other end."""
    name = "IS NOT NULL" if key.nulls_first else "IS NULL"
    return Call(DataTypes.BOOLEAN(False), name, (key.rex,))
