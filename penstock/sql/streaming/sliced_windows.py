"""GROUP BY over TUMBLE, HOP or CUMULATE without a row per window: rows are aggregated into slices of time.

A window table function below an aggregate would make size / slide rows of each row. Where the aggregate needs nothing
of the window but its bounds, it is planned over the rows themselves: pre-aggregated per key and slice before the
exchange, put together from slices when a window ends (`delta/time/window_aggregate.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.common.datatypes import LocalZonedTimestampType
from penstock.delta.base import DeltaOperator
from penstock.delta.columnar.sliced_windows import ColumnarWindowAggregate, can_be_columns
from penstock.delta.local.aggregate import SliceTime
from penstock.delta.time.window_aggregate import WindowAggregate
from penstock.delta.time.windows import WindowSpec, cumulate, hop, tumble
from penstock.sql.plan.algebra import Aggregate, Field, Project, WindowTvf
from penstock.sql.plan.rex import AggCall, InputRef, Rex, transform, walk
from penstock.sql.streaming.aggregates import InputColumns, agg_spec, pre_aggregation
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.windows import WindowColumns, arranged, time_attribute

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner

PROPERTIES = ("window_start", "window_end", "window_time")


def plan_sliced(planner: Planner, plan: Aggregate) -> Stream | None:
    """The window aggregate of a plan, None if it is not one or needs the rows of each window."""
    found = _over_window(plan)
    if found is None:
        return None
    plan, tvf = found
    stream = planner.plan(tvf.input)
    time = time_attribute(stream, tvf)
    zone = planner.zone if isinstance(time.type, LocalZonedTimestampType) else None
    processing = time.time == "proctime"
    width = len(tvf.input.fields)
    properties = {width + i: name for i, name in enumerate(PROPERTIES)}
    others = [k for k in plan.keys if not (isinstance(k, InputRef) and k.index in properties)]
    columns = InputColumns([] if processing else [InputRef(time.type, tvf.time_column)])
    keys = [columns.place(k) for k in others]
    specs = [agg_spec(c, columns, planner.zone) for c in plan.calls]
    window = _window_spec(tvf)
    local = None
    if processing or zone in (None, "UTC"):
        slices = None if processing else SliceTime(0, window)
        local = pre_aggregation(planner, stream.retracts, keys, specs, columns, slices)
    operator: DeltaOperator
    if local is not None and can_be_columns(local):
        operator = ColumnarWindowAggregate(local, window, PROPERTIES, zone=zone, processing_time=processing)
    else:
        operator = WindowAggregate(
            keys if local is None else range(len(keys)),
            None if processing else 0 if local is None else local.time_column,
            window,
            specs if local is None else local.partial_specs(),
            properties=PROPERTIES,
            zone=zone,
            input_retracts=stream.retracts,
            row_count_column=None if local is None else local.row_count_column,
        )
    fields = [
        *(Field(f"k{i}", k.type) for i, k in enumerate(others)),
        *(Field(f"a{i}", c.type) for i, c in enumerate(plan.calls)),
        *tvf.fields[width : width + len(PROPERTIES)],
    ]
    name = f"Window{plan.describe()}"
    result = planner.delta(name, operator, [columns.of(stream)], fields, local=[local])
    cut = (tvf.kind, tvf.size, tvf.slide, tvf.offset)
    below = WindowColumns(width, width + 1, width + 2, cut, zone, processing)
    return arranged(result, plan, others, properties, below)


def _window_spec(tvf: WindowTvf) -> WindowSpec:
    if tvf.kind == "TUMBLE":
        return tumble(tvf.size, tvf.offset)
    assert tvf.slide is not None
    make = hop if tvf.kind == "HOP" else cumulate
    return make(tvf.size, tvf.slide, tvf.offset)


def _over_window(plan: Aggregate) -> tuple[Aggregate, WindowTvf] | None:
    """The aggregate over the table function itself, projections between them taken into its expressions."""
    if plan.grouping_sets is not None:
        return None
    while isinstance(plan.input, Project):
        plan = _without_project(plan, plan.input)
    tvf = plan.input
    if not isinstance(tvf, WindowTvf) or tvf.kind == "SESSION":
        return None
    if not _by_slices(tvf):
        return None
    return (plan, tvf) if needs_bounds_only(plan, tvf) else None


def needs_bounds_only(plan: Aggregate, tvf: WindowTvf) -> bool:
    """Whether both bounds of the window are keys of an aggregate, and nothing else of it reads window columns."""
    width = len(tvf.input.fields)
    bounds = {k.index for k in plan.keys if isinstance(k, InputRef) and k.index >= width}
    if not {width, width + 1} <= bounds:
        return False
    others = [k for k in plan.keys if not (isinstance(k, InputRef) and k.index >= width)]
    read = [*others, *(rex for call in plan.calls for rex in _rexes(call))]
    return not any(isinstance(r, InputRef) and r.index >= width for rex in read for r in walk(rex))


def _by_slices(tvf: WindowTvf) -> bool:
    """Windows over row time; by the clock an epoch is one moment, and only tumbling windows are one slice."""
    time = tvf.input.fields[tvf.time_column].time
    return time == "rowtime" or (time == "proctime" and tvf.kind == "TUMBLE")


def _rexes(call: AggCall) -> list[Rex]:
    return [*call.args, *([] if call.filter is None else [call.filter]), *(key.rex for key in call.order)]


def _without_project(plan: Aggregate, project: Project) -> Aggregate:
    def through(rex: Rex) -> Rex:
        return transform(rex, lambda r: project.exprs[r.index] if isinstance(r, InputRef) else None)

    calls = tuple(
        replace(
            call,
            args=tuple(map(through, call.args)),
            filter=None if call.filter is None else through(call.filter),
            order=tuple(replace(key, rex=through(key.rex)) for key in call.order),
        )
        for call in plan.calls
    )
    return replace(plan, input=project.input, keys=tuple(map(through, plan.keys)), calls=calls)
