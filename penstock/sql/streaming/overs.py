"""OVER windows ordered by time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType
from penstock.common.errors import ValidationError
from penstock.delta.base import DeltaOperator
from penstock.delta.columnar.over import ColumnarOver, can_be_running
from penstock.delta.time.ordered_over import OrderedOver
from penstock.delta.time.over import EventTimeOver, ProcessingTimeOver
from penstock.delta.time.over_functions import OrderFunction, OverFrame
from penstock.sql.plan.algebra import Field, Over
from penstock.sql.plan.rex import AggCall, Const, Frame, InputRef, OverCall
from penstock.sql.streaming.aggregates import InputColumns, agg_spec
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.sorts import sort_order

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner

_ORDERED = ("ROW_NUMBER", "RANK", "DENSE_RANK", "LAG")


def plan_over(planner: Planner, plan: Over) -> Stream:
    stream = planner.plan(plan.input)
    first = plan.calls[0]
    for call in plan.calls[1:]:
        if (call.partition, call.order, _frame(call)) != (first.partition, first.order, _frame(first)):
            raise ValidationError(
                "over aggregates of one SELECT must all have the same window in streaming mode",
                do="use one OVER clause, or put the second into an outer query",
            )
    _check_pandas(plan)
    columns = InputColumns(stream.refs())
    partition = [columns.place(p) for p in first.partition]
    specs = [_spec(call, columns, planner.zone) for call in plan.calls]
    by_time = _time_of(stream, first)
    if by_time and not stream.retracts:
        operator = _operator(stream, first, partition, specs, [rex.type for rex in columns.rexes])
    else:
        operator = _ordered(planner, stream, first, partition, specs, columns)
    wide = columns.of(stream)
    added = [Field(f"$o{i}", c.type) for i, c in enumerate(plan.calls)]
    updating = not by_time or stream.retracts
    result = planner.delta(
        plan.describe(), operator, [wide], [*wide.fields, *added],
        retracts=updating, updated_by=plan.describe() if updating else "",
    )  # fmt: skip
    width = len(wide.fields)
    exprs = [InputRef(f.type, i, f.time) for i, f in enumerate(stream.fields)]
    exprs += [InputRef(c.type, width + i) for i, c in enumerate(plan.calls)]
    return result.project(plan.fields, exprs, window=stream.window)


def _check_pandas(plan: Over) -> None:
    """Refuses functions of Series over all rows there ever were, as Flink does."""
    for call in plan.calls:
        if call.function is not None and call.function.pandas and _frame(call).preceding is None:
            raise ValidationError(
                f"Pandas UDAFs are not supported in UNBOUNDED PRECEDING OVER windows: {call.name}",
                do="begin the frame a number of rows or a time before the current row",
            )


def _time_of(stream: Stream, call: OverCall) -> str:
    """The kind of time attribute that orders the window, "" if it is ordered by something else."""
    if len(call.order) != 1 or not isinstance(call.order[0].rex, InputRef):
        return ""
    return stream.fields[call.order[0].rex.index].time


def _operator(
    stream: Stream, call: OverCall, partition: list[int], specs: list[Any], types: list[DataType]
) -> DeltaOperator:
    frame, key = _frame(call), call.order[0]
    assert isinstance(key.rex, InputRef)
    if key.descending:
        raise ValidationError("OVER must be ordered by time ascending in streaming mode", do="leave DESC out")
    by_clock = stream.fields[key.rex.index].time == "proctime"
    if can_be_running(frame, specs, types, partition):
        return ColumnarOver(partition, None if by_clock else key.rex.index, frame, specs, types)
    if by_clock:
        return ProcessingTimeOver(partition, frame, specs)
    return EventTimeOver(partition, key.rex.index, frame, specs)


def _ordered(
    planner: Planner,
    stream: Stream,
    call: OverCall,
    partition: list[int],
    specs: list[Any],
    columns: InputColumns,
) -> DeltaOperator:
    if not call.order:
        raise ValidationError(
            "OVER windows in streaming mode must be ordered", do="add ORDER BY, best by the row time"
        )
    frame = _frame(call)
    if frame.preceding is not None:
        raise ValidationError(
            "OVER with a bounded frame must be ordered by a time attribute in streaming mode",
            do="use UNBOUNDED PRECEDING, or order by the row time",
        )
    order = sort_order(call.order, columns)
    return OrderedOver(partition, order, frame.rows, specs, state_ttl_ms=planner.state_ttl_ms)


def _frame(call: OverCall) -> OverFrame:
    frame = call.frame
    if frame is None:
        return OverFrame(call.name in ("LAG", "LEAD"), None)
    if frame.end[0] != "CURRENT ROW":
        raise ValidationError(
            "OVER RANGE FOLLOWING windows are not supported yet in streaming mode",
            do="end the frame at CURRENT ROW",
        )
    return _preceding(frame)


def _preceding(frame: Frame) -> OverFrame:
    side, value = frame.start
    rows = frame.kind == "ROWS"
    if side == "CURRENT ROW":
        return OverFrame(rows, 0)
    if side != "PRECEDING":
        raise ValidationError("a frame in streaming mode begins before the current row")
    if value is None:
        return OverFrame(rows, None)
    if not isinstance(value, Const):
        raise ValidationError("the bound of a frame must be a constant")
    return OverFrame(rows, int(value.value))


def _spec(call: OverCall, columns: InputColumns, zone: str) -> Any:
    if call.name not in _ORDERED:
        if call.name == "LEAD":
            raise ValidationError("LEAD looks ahead, which streaming mode cannot", do="use LAG")
        function = call.function
        plain = AggCall(call.type, call.name, call.args, call.distinct, call.filter, function=function)
        return replace(agg_spec(plain, columns, zone), in_integers=True)
    if call.name != "LAG":
        return OrderFunction(call.name)
    value, *rest = call.args
    offset = rest[0].value if rest and isinstance(rest[0], Const) else 1
    if len(rest) < 2:
        return OrderFunction("LAG", columns.place(value), offset)
    default = rest[1]
    if isinstance(default, Const):
        return OrderFunction("LAG", columns.place(value), offset, default.value)
    return OrderFunction("LAG", columns.place(value), offset, None, columns.place(default))
