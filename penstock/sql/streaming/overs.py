"""OVER windows ordered by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.delta.base import DeltaOperator
from penstock.delta.time.over import EventTimeOver, ProcessingTimeOver
from penstock.delta.time.over_functions import Frame, OrderFunction
from penstock.sql.algebra import Field, Over
from penstock.sql.rex import AggCall, Const, InputRef, OverCall
from penstock.sql.rex import Frame as FrameRex
from penstock.sql.streaming.aggregates import InputColumns, agg_spec
from penstock.sql.streaming.physical import Stream

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
    if stream.retracts:
        raise ValidationError(
            "OVER in streaming mode reads rows that only come, but its input takes rows back "
            f"({stream.updated_by})"
        )
    columns = InputColumns(stream.refs())
    partition = [columns.place(p) for p in first.partition]
    specs = [_spec(call, columns) for call in plan.calls]
    operator = _operator(stream, first, partition, specs)
    wide = columns.of(stream)
    added = [Field(f"$o{i}", c.type) for i, c in enumerate(plan.calls)]
    result = planner.delta(plan.describe(), operator, [wide], [*wide.fields, *added])
    width = len(wide.fields)
    exprs = [InputRef(f.type, i, f.time) for i, f in enumerate(stream.fields)]
    exprs += [InputRef(c.type, width + i) for i, c in enumerate(plan.calls)]
    return result.project(plan.fields, exprs, window=stream.window)


def _operator(stream: Stream, call: OverCall, partition: list[int], specs: list[Any]) -> DeltaOperator:
    frame = _frame(call)
    if len(call.order) != 1 or not isinstance(call.order[0].rex, InputRef):
        raise _not_by_time(call)
    key = call.order[0]
    assert isinstance(key.rex, InputRef)
    time = stream.fields[key.rex.index].time
    if not time:
        raise _not_by_time(call)
    if key.descending:
        raise ValidationError("OVER must be ordered by time ascending in streaming mode", do="leave DESC out")
    if time == "proctime":
        return ProcessingTimeOver(partition, frame, specs)
    return EventTimeOver(partition, key.rex.index, frame, specs)


def _not_by_time(call: OverCall) -> Exception:
    if not call.order:
        return ValidationError(
            "OVER windows' ordering in streaming mode must be defined on a time attribute",
            do="add ORDER BY the row time",
        )
    return NotSupportedError(
        "OVER ordered by something else than one time attribute",
        "only windows in order of time are incremental here",
    )


def _frame(call: OverCall) -> Frame:
    frame = call.frame
    if frame is None:
        return Frame(call.name in ("LAG", "LEAD"), None)
    if frame.end[0] != "CURRENT ROW":
        raise ValidationError(
            "OVER RANGE FOLLOWING windows are not supported yet in streaming mode",
            do="end the frame at CURRENT ROW",
        )
    return _preceding(frame)


def _preceding(frame: FrameRex) -> Frame:
    side, value = frame.start
    rows = frame.kind == "ROWS"
    if side == "CURRENT ROW":
        return Frame(rows, 0)
    if side != "PRECEDING":
        raise ValidationError("a frame in streaming mode begins before the current row")
    if value is None:
        return Frame(rows, None)
    if not isinstance(value, Const):
        raise ValidationError("the bound of a frame must be a constant")
    return Frame(rows, int(value.value))


def _spec(call: OverCall, columns: InputColumns) -> Any:
    if call.name not in _ORDERED:
        if call.name == "LEAD":
            raise ValidationError("LEAD looks ahead, which streaming mode cannot", do="use LAG")
        return agg_spec(AggCall(call.type, call.name, call.args, call.distinct, call.filter), columns)
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


_BIGINT = DataTypes.BIGINT()
