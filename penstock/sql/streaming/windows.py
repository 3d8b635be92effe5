"""Window table functions, and the operators that know that their rows are in windows.

TUMBLE, HOP and CUMULATE only add columns, so Spark does it; SESSION needs state. `Stream.window` remembers which
columns are the bounds, as long as projections keep them. An aggregate, join or Top-N that has both bounds among its
keys then answers once per window, when it ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import LocalZonedTimestampType
from penstock.common.errors import ValidationError
from penstock.delta.base import DeltaOperator
from penstock.delta.join import JoinType
from penstock.delta.time.session import SessionRows
from penstock.delta.time.window_aggregate import AttachedWindow, AttachedWindowAggregate
from penstock.delta.time.window_join import WindowJoin
from penstock.delta.time.window_rank import WindowDeduplicate, WindowRank
from penstock.sql.plan.algebra import Aggregate, Field, Join, WindowTvf
from penstock.sql.plan.rex import InputRef, OverCall, Rex
from penstock.sql.streaming.aggregates import InputColumns, agg_spec, pre_aggregation
from penstock.sql.streaming.epoch_time import EPOCH_TIME
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.residual import Residual
from penstock.sql.streaming.sorts import sort_order

if TYPE_CHECKING:
    from penstock.sql.streaming.join_conditions import Parts
    from penstock.sql.streaming.planner import Planner
    from penstock.sql.streaming.ranks import RankFilter


FROM_AGGREGATE = ("aggregate",)
"""The `cut` of windows that an aggregate has put out."""


@dataclass(frozen=True)
class WindowColumns:
    """Where a stream has its window: columns of start, end and (maybe) time; how the windows were cut."""

    start: int
    end: int
    time: int | None
    cut: tuple[Any, ...]
    zone: str | None
    processing: bool = False

    def through(self, places: dict[int, int]) -> WindowColumns | None:
        """The window after a projection; None if a bound is gone."""
        if self.start not in places or self.end not in places:
            return None
        time = None if self.time is None else places.get(self.time)
        return replace(self, start=places[self.start], end=places[self.end], time=time)

    @property
    def attached(self) -> AttachedWindow:
        return AttachedWindow(self.start, self.end)


def plan_window_tvf(planner: Planner, plan: WindowTvf) -> Stream:
    from penstock.sql.streaming.planner import hidden_last

    stream = planner.plan(plan.input)
    time = time_attribute(stream, plan)
    zone = planner.zone if isinstance(time.type, LocalZonedTimestampType) else None
    processing = time.time == "proctime"
    width = stream.width
    cut = (plan.kind, plan.size, plan.slide, plan.offset)
    window = WindowColumns(width, width + 1, width + 2, cut, zone, processing)
    if plan.kind == "SESSION":
        check_sessions(stream, plan)
        operator = SessionRows(plan.partition, None if processing else plan.time_column, plan.size, zone=zone)
        rows = planner.delta(plan.describe(), operator, [stream], plan.fields)
        return replace(rows, window=window)
    if processing:
        stream = _at_now(stream, plan.time_column)
    inner = replace(plan, input=stream.plan, fields=(*stream.plan.fields, *plan.fields[width:]))
    made = hidden_last(stream, inner, plan.fields, width, 3)
    return replace(made, window=window)


def check_sessions(stream: Stream, plan: WindowTvf) -> None:
    """Refuses what has no sessions: rows without a time attribute, rows that go."""
    time_attribute(stream, plan)
    if stream.retracts:
        raise ValidationError("session windows read rows that only come, but the input takes rows back")


def _at_now(stream: Stream, column: int) -> Stream:
    """Processing time is what it is now, not what it was when the row began to wait in an operator below."""
    exprs = stream.refs()
    exprs[column] = EPOCH_TIME
    return stream.project(stream.fields, exprs)


def time_attribute(stream: Stream, plan: WindowTvf) -> Field:
    """The column whose time the windows cut."""
    time = stream.fields[plan.time_column]
    if not time.time:
        raise ValidationError(
            f"{plan.kind} requires a time attribute, but '{time.name}' is an ordinary timestamp here: "
            "an operator below does not keep rows in order of time",
            do="put the window below the join or aggregate",
        )
    return time


# --- aggregate --------------------------------------------------------------------------------------------


def is_windowed(stream: Stream, keys: tuple[Rex, ...]) -> bool:
    """Whether an aggregate's keys have both bounds of the stream's window."""
    window = stream.window
    if window is None:
        return False
    columns = {k.index for k in keys if isinstance(k, InputRef)}
    return window.start in columns and window.end in columns


def plan_window_aggregate(planner: Planner, plan: Aggregate, stream: Stream) -> Stream:
    """Output of the operator: other keys, calls, then start, end and time; put back into the plan's order."""
    window: WindowColumns = stream.window
    properties = {window.start: "window_start", window.end: "window_end"}
    if window.time is not None:
        properties[window.time] = "window_time"
    columns = InputColumns([InputRef(stream.fields[i].type, i) for i in (window.start, window.end)])
    others = [k for k in plan.keys if not (isinstance(k, InputRef) and k.index in properties)]
    key_columns = [columns.place(k) for k in others]
    specs = [agg_spec(c, columns, planner.zone) for c in plan.calls]
    local = None
    if window.cut == FROM_AGGREGATE and not window.processing:  # results of windows are never late for them
        local = pre_aggregation(planner, stream.retracts, [0, 1, *key_columns], specs, columns)
    operator = AttachedWindowAggregate(
        key_columns if local is None else range(2, 2 + len(key_columns)),
        AttachedWindow(0, 1),
        specs if local is None else local.partial_specs(),
        properties=("window_start", "window_end", "window_time"),
        zone=window.zone,
        input_retracts=stream.retracts,
        processing_time=window.processing,
        row_count_column=None if local is None else local.row_count_column,
    )
    shown = [stream.fields[i] for i in (window.start, window.end)]
    moment = _window_time(stream, plan, window)
    fields = [
        *(Field(f"k{i}", k.type) for i, k in enumerate(others)),
        *(Field(f"a{i}", c.type) for i, c in enumerate(plan.calls)),
        *shown,
        moment,
    ]
    name = f"Window{plan.describe()}"
    result = planner.delta(name, operator, [columns.of(stream)], fields, local=[local])
    return arranged(result, plan, others, properties, window)


def _window_time(stream: Stream, plan: Aggregate, window: WindowColumns) -> Field:
    if window.time is not None:
        return stream.fields[window.time]
    data_type = (
        LocalZonedTimestampType(3, False) if window.zone is not None else stream.fields[window.end].type
    )
    return Field("window_time", data_type)


def arranged(
    result: Stream, plan: Aggregate, others: list[Rex], properties: dict[int, str], below: WindowColumns
) -> Stream:
    """The operator's columns (other keys, calls, window properties) in the order of the plan."""
    width = result.width
    behind = {"window_start": width - 3, "window_end": width - 2, "window_time": width - 1}
    exprs: list[Rex] = []
    places: dict[str, int] = {}
    for at, (key, field) in enumerate(zip(plan.keys, plan.fields[: len(plan.keys)], strict=True)):
        name = properties.get(key.index) if isinstance(key, InputRef) else None
        if name is None:
            exprs.append(InputRef(field.type, others.index(key), field.time))
        else:
            places[name] = at
            exprs.append(InputRef(field.type, behind[name], field.time))
    for i, field in enumerate(plan.fields[len(plan.keys) :]):
        exprs.append(InputRef(field.type, len(others) + i))
    window = replace(
        below,
        start=places["window_start"],
        end=places["window_end"],
        time=places.get("window_time"),
        cut=FROM_AGGREGATE,
    )
    keys = frozenset({frozenset(range(len(plan.keys)))})
    return result.project(plan.fields, exprs, keys=keys, window=window)


# --- join, Top-N ------------------------------------------------------------------------------------------


def plan_window_join(
    planner: Planner, left: Stream, right: Stream, plan: Join, parts: Parts
) -> Stream | None:
    """A join of two windowed inputs on their windows; None if the windows are not compared."""
    from penstock.sql.streaming.join_conditions import Parts as PartsClass
    from penstock.sql.streaming.joins import arrange, finish, replace_name

    a, b = left.window, right.window
    pairs = {(a.start, b.start): "start", (a.end, b.end): "end"}
    if a.time is not None and b.time is not None:
        pairs[a.time, b.time] = "time"
    compared: set[str] = set()
    kept = PartsClass(rest=list(parts.rest))
    for one, other, safe in zip(parts.left, parts.right, parts.null_safe, strict=True):
        bound = (
            pairs.get((one.index, other.index))
            if isinstance(one, InputRef) and isinstance(other, InputRef)
            else None
        )
        if bound is not None:
            compared.add(bound)
            continue
        kept.left.append(one)
        kept.right.append(other)
        kept.null_safe.append(safe)
    if "start" not in compared or ("end" not in compared and a.cut != b.cut):
        return None
    if left.retracts or right.retracts:
        return None
    if a.processing or b.processing:
        raise _no_processing_time("Window Join")
    sides = arrange(left, right, kept, in_python=True)
    operator = WindowJoin(
        JoinType(plan.kind),
        sides.left_keys,
        sides.right_keys,
        a.attached,
        b.attached,
        left_width=sides.left.width,
        right_width=sides.right.width,
        null_safe=kept.null_safe,
        residual=None if sides.residual is None else Residual(sides.residual),
        zone=a.zone,
    )
    joined = finish(planner, replace_name(plan, "WindowJoin"), operator, sides, left, right, False)
    keeps = plan.kind in ("inner", "left", "semi", "anti")
    return replace(joined, window=a if keeps else None)


def _no_processing_time(what: str) -> ValidationError:
    return ValidationError(
        f"Processing time {what} is not supported yet", do="cut the windows by a row time, with WATERMARK FOR"
    )


def window_rank(
    planner: Planner,
    stream: Stream,
    call: OverCall,
    wanted: RankFilter,
    columns: InputColumns,
    partition: list[int],
) -> tuple[DeltaOperator, bool, bool, str, frozenset[frozenset[int]]] | None:
    window: WindowColumns | None = stream.window
    if window is None or window.start not in partition or window.end not in partition:
        return None
    if wanted.end is None or stream.retracts:
        return None
    if window.processing:
        raise _no_processing_time("Window TopN")
    bounds = {window.start, window.end, window.time}
    keys = [c for c in partition if c not in bounds]
    time = call.order[0].rex
    single = len(call.order) == 1 and isinstance(time, InputRef)
    if (
        single
        and wanted.end == 1
        and isinstance(time, InputRef)
        and stream.fields[time.index].time == "rowtime"
    ):
        first: DeltaOperator = WindowDeduplicate(
            keys, window.attached, time.index, keep_last=call.order[0].descending, zone=window.zone
        )
        return first, False, False, "WindowDeduplicate", frozenset()
    rank = WindowRank(
        keys,
        window.attached,
        sort_order(call.order, columns),
        rank_end=wanted.end,
        rank_start=wanted.start,
        emit_rank=True,
        zone=window.zone,
    )
    return rank, True, False, "WindowRank", frozenset()
