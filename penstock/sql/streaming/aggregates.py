"""GROUP BY: the columns an aggregate reads are computed in Spark, the groups are kept by a delta operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import DeltaOperator
from penstock.delta.columnar.group_aggregate import ColumnarGroupAggregate, split_calls
from penstock.delta.columns import can_group
from penstock.delta.group_aggregate import GroupAggregate
from penstock.delta.local.aggregate import PreAggregate, SliceTime, can_be_partial
from penstock.sql.aggregate_calls import ConvertedAggregate
from penstock.sql.plan.algebra import Aggregate, Field, Plan, Unnest, WindowTvf
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.split_distinct import split_distinct

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner

GROUPING_CALLS = ("GROUPING", "GROUPING_ID", "GROUP_ID")


class InputColumns:
    """Collects the expressions an operator needs as columns, each once."""

    def __init__(self, first: Sequence[Rex] = ()) -> None:
        self.rexes: list[Rex] = list(first)

    def place(self, rex: Rex) -> int:
        if rex not in self.rexes:
            self.rexes.append(rex)
        return self.rexes.index(rex)

    def of(self, stream: Stream) -> Stream:
        fields = [Field(f"i{i}", r.type) for i, r in enumerate(self.rexes)]
        return stream.project(fields, self.rexes, keys=frozenset(), window=None)


def plan_aggregate(planner: Planner, plan: Aggregate) -> Stream:
    from penstock.sql.streaming.session_windows import plan_sessions
    from penstock.sql.streaming.sliced_windows import plan_sliced

    if plan.row_window is not None:
        from penstock.sql.streaming.row_windows import plan_row_windows

        return plan_row_windows(planner, plan)
    _check_pandas(plan)
    sliced = plan_sliced(planner, plan)
    if sliced is not None:
        return sliced
    sessions = plan_sessions(planner, plan, _sessions_per_key(plan))
    if sessions is not None:
        return sessions
    stream = planner.plan(_sessions_per_key(plan))
    if plan.grouping_sets is not None:
        return _grouping_sets(planner, plan, stream)
    from penstock.sql.streaming.windows import is_windowed, plan_window_aggregate

    if is_windowed(stream, plan.keys):
        return plan_window_aggregate(planner, plan, stream)
    halves = split_distinct(plan, planner.distinct_buckets) if planner.distinct_buckets else None
    if halves is None:
        return _groups(planner, plan, stream)
    parts, whole = halves
    return _groups(planner, whole, _groups(planner, parts, stream))


def _groups(planner: Planner, plan: Aggregate, stream: Stream) -> Stream:
    """One operator that keeps the groups of a stream."""
    columns = InputColumns(plan.keys)
    specs = [agg_spec(c, columns, planner.zone) for c in plan.calls]
    keys = range(len(plan.keys))
    local = pre_aggregation(planner, stream.retracts, keys, specs, columns)
    operator = _columnar_groups(planner, plan, stream, specs, columns, local)
    if operator is None:
        operator = GroupAggregate(
            keys,
            specs if local is None else local.partial_specs(),
            input_retracts=stream.retracts,
            state_ttl_ms=planner.ttl_ms(plan.ttl_ms),
            row_count_column=None if local is None else local.row_count_column,
        )
    return planner.delta(
        plan.describe(),
        operator,
        [columns.of(stream)],
        [replace(f, time="") for f in plan.fields],
        local=[local],
        retracts=bool(plan.calls) or stream.retracts,
        keys=frozenset({frozenset(range(len(plan.keys)))}),
        updated_by=plan.describe(),
    )


def _columnar_groups(
    planner: Planner,
    plan: Aggregate,
    stream: Stream,
    specs: Sequence[AggSpec],
    columns: InputColumns,
    local: PreAggregate | None,
) -> DeltaOperator | None:
    """The operator on columns: for rows that only come, without a time to live, if no call needs Python."""
    types = [rex.type for rex in columns.rexes]
    keys = range(len(plan.keys))
    if stream.retracts or planner.ttl_ms(plan.ttl_ms) or not can_group([types[k] for k in keys]):
        return None
    split = split_calls(specs, types, planner.agg_phase_strategy == "TWO_PHASE")
    if split is None:
        return None
    return ColumnarGroupAggregate(keys, specs, types, split, pre_aggregated=local is not None)


def pre_aggregation(
    planner: Planner,
    retracts: bool,
    keys: Sequence[int],
    specs: Sequence[AggSpec],
    columns: InputColumns,
    slices: SliceTime | None = None,
) -> PreAggregate | None:
    """What can be aggregated before the exchange; None unless all of it can and gives the same result."""
    strategy = planner.agg_phase_strategy
    if retracts or strategy == "ONE_PHASE":
        return None
    types = [rex.type for rex in columns.rexes]
    if not can_group([types[k] for k in keys]):
        return None
    if not all(can_be_partial(spec, types, strategy == "TWO_PHASE") for spec in specs):
        return None
    return PreAggregate(keys, specs, types, slices)


def _sessions_per_key(plan: Aggregate) -> Plan:
    """GROUP BY k, SESSION(ts, gap): sessions belong to k. The older form keeps the row time an attribute."""
    tvf = plan.input
    if not isinstance(tvf, WindowTvf) or tvf.kind != "SESSION" or tvf.partition:
        return tvf
    if not tvf.fields[tvf.time_column].time:
        return tvf
    width = len(tvf.input.fields)
    keys = [k for k in plan.keys if not (isinstance(k, InputRef) and k.index >= width)]
    if not all(isinstance(k, InputRef) for k in keys):
        raise NotSupportedError("SESSION grouped by an expression", "sessions are kept per column value")
    return replace(tvf, partition=tuple(k.index for k in keys if isinstance(k, InputRef)))


def agg_spec(call: AggCall, columns: InputColumns, zone: str) -> AggSpec:
    """A call over columns; what is constant in it (separator, NULL handling) becomes part of the call."""
    args: list[Rex] = list(call.args)
    options: dict[str, Any] = {}
    if call.function is not None:
        options["user_function"] = ConvertedAggregate(call.function, [a.type for a in args], zone)
    if call.order:
        raise NotSupportedError(f"ORDER BY inside {call.name}", "rows are aggregated in arrival order")
    if call.name == "LISTAGG" and len(args) == 2 and isinstance(args[1], Const):
        options["separator"] = args[1].value
        args = args[:1]
    if call.name in ("JSON_OBJECTAGG", "JSON_ARRAYAGG"):
        options["null_on_null"] = _option_of(args, 3 if call.name == "JSON_OBJECTAGG" else 2)
        args[-1] = _json_text(args[-1])
    if call.name == "ARRAY_AGG" and len(args) == 2:
        call, args = _without_nulls(call), args[:1]
    condition = None if call.filter is None else columns.place(call.filter)
    return AggSpec(
        call.name if call.function is None else "USER",
        tuple(columns.place(a) for a in args),
        call.type,
        distinct=call.distinct,
        filter=condition,
        **options,
    )


def _check_pandas(plan: Aggregate) -> None:
    """Functions of Series want all rows of a group at once: Flink's group windows over time have them.

    Where rows never stop coming, or sessions grow together, Flink refuses them, and so do we.
    """
    called = next((c.name for c in plan.calls if c.function is not None and c.function.pandas), None)
    if called is None:
        return
    tvf = plan.input
    if not isinstance(tvf, WindowTvf) or not tvf.fields[tvf.time_column].time or plan.grouping_sets:
        raise ValidationError(
            f"Pandas UDAFs are not supported in streaming mode without a group window: {called}",
            do="group by TUMBLE(time, size) or HOP(...), use a bounded OVER window, or write an AggregateFunction",
        )
    if tvf.kind == "SESSION":
        raise ValidationError(
            f"session windows are not supported for Pandas UDAFs: {called}",
            do="write an AggregateFunction with merge(accumulator, accumulators)",
        )


def _json_text(value: Rex) -> Rex:
    """The value as JSON, written by Catalyst; what builds JSON is JSON."""
    if isinstance(value, Call) and value.name in ("JSON_OBJECT", "JSON_ARRAY", "JSON"):
        return value
    return Call(DataTypes.STRING(value.type.is_nullable), "JSON_STRING", (value,))


def _without_nulls(call: AggCall) -> AggCall:
    """ARRAY_AGG(x IGNORE NULLS) as ARRAY_AGG(x) FILTER (WHERE x IS NOT NULL)."""
    present: Rex = Call(DataTypes.BOOLEAN(False), "IS NOT NULL", (call.args[0],))
    if call.filter is not None:
        present = Call(DataTypes.BOOLEAN(), "AND", (call.filter, present))
    return replace(call, args=call.args[:1], filter=present)


def _option_of(args: list[Rex], position: int) -> bool | None:
    if len(args) < position:
        return None
    option = args.pop()
    return isinstance(option, Const) and option.value == "NULL"


def _grouping_sets(planner: Planner, plan: Aggregate, stream: Stream) -> Stream:
    """Every row once per set, with the set's number among the keys."""
    assert plan.grouping_sets is not None
    real = [c for c in plan.calls if c.name not in GROUPING_CALLS]
    columns = InputColumns()
    specs_input = [agg_spec(c, columns, planner.zone) for c in real]
    union = _once_per_set(plan, stream, columns)
    key_count = len(plan.keys) + 1 + sum(1 for c in plan.calls if c.name in GROUPING_CALLS)
    specs = [_shifted(s, key_count) for s in specs_input]
    calls = [Field(f"a{i}", c.type) for i, c in enumerate(real)]
    windows = _window_keys(plan, stream)
    if windows:
        return _windowed_sets(planner, plan, stream, union, windows, key_count, specs, calls)
    operator = GroupAggregate(
        range(key_count), specs, input_retracts=stream.retracts, state_ttl_ms=planner.ttl_ms(plan.ttl_ms)
    )
    fields = [*union.fields[:key_count], *calls]
    result = planner.delta(
        plan.describe(), operator, [union], fields,
        retracts=bool(real) or stream.retracts, updated_by=plan.describe(),
    )  # fmt: skip
    return result.project(plan.fields, _shown(plan, list(range(len(fields))), key_count))


def _window_keys(plan: Aggregate, stream: Stream) -> dict[int, str]:
    """Positions of the keys that are window columns, if both bounds are in every grouping set."""
    assert plan.grouping_sets is not None
    if stream.window is None:
        return {}
    names = {stream.window.start: "window_start", stream.window.end: "window_end"}
    if stream.window.time is not None:
        names[stream.window.time] = "window_time"
    found = {
        i: names[k.index] for i, k in enumerate(plan.keys) if isinstance(k, InputRef) and k.index in names
    }
    bounds = {i for i, name in found.items() if name != "window_time"}
    complete = len(bounds) == 2 and all(bounds <= set(chosen) for chosen in plan.grouping_sets)
    return found if complete else {}


def _windowed_sets(
    planner: Planner,
    plan: Aggregate,
    stream: Stream,
    union: Stream,
    windows: dict[int, str],
    key_count: int,
    specs: list[AggSpec],
    calls: list[Field],
) -> Stream:
    """The same with the window bounds among the keys: one answer per window and group."""
    from penstock.delta.time.window_aggregate import AttachedWindow, AttachedWindowAggregate

    properties = ("window_start", "window_end", "window_time")
    place = {name: i for i, name in windows.items()}
    others = [i for i in range(key_count) if i not in windows]
    operator = AttachedWindowAggregate(
        others,
        AttachedWindow(place["window_start"], place["window_end"]),
        specs,
        properties=properties,
        zone=stream.window.zone,
        input_retracts=stream.retracts,
        processing_time=stream.window.processing,
    )
    stamps = [stream.fields[stream.window.start], stream.fields[stream.window.end]]
    moment = stamps[1] if stream.window.time is None else stream.fields[stream.window.time]
    fields = [*(union.fields[i] for i in others), *calls, *stamps, moment]
    result = planner.delta(f"Window{plan.describe()}", operator, [union], fields)
    behind = len(others) + len(calls)
    made = [
        behind + properties.index(windows[i]) if i in windows else others.index(i) for i in range(key_count)
    ]
    made += range(len(others), behind)
    return result.project(plan.fields, _shown(plan, made, key_count))


def _once_per_set(plan: Aggregate, stream: Stream, columns: InputColumns) -> Stream:
    """Keys (NULL where they are not in the set), the set's number, GROUPING values, then what the calls read."""
    from penstock.sql.streaming.planner import hidden_last

    assert plan.grouping_sets is not None
    sets = plan.grouping_sets
    number = DataTypes.INT(False)
    numbers = tuple(Const(number, i) for i in range(len(sets)))
    array = Call(DataTypes.ARRAY(number), "ARRAY", numbers)
    added = Field("$set", number)
    inner = Unnest((*stream.plan.fields, added), stream.plan, array)
    spread = hidden_last(stream, inner, (*stream.fields, added), stream.width, 1)
    which = InputRef(number, stream.width)
    keys = [_key_in_sets(k, [s for s, chosen in enumerate(sets) if i in chosen], which, len(sets))
            for i, k in enumerate(plan.keys)]  # fmt: skip
    for call in plan.calls:
        if call.name in GROUPING_CALLS:
            values = [_grouping_value(call, chosen) for chosen in sets]
            keys.append(_by_set(which, values))
    rexes = [*keys[: len(plan.keys)], which, *keys[len(plan.keys) :], *columns.rexes]
    fields = [Field(f"i{i}", r.type.nullable()) for i, r in enumerate(rexes)]
    return spread.project(fields, rexes, keys=frozenset(), window=None)


def _key_in_sets(key: Rex, members: list[int], which: Rex, count: int) -> Rex:
    if len(members) == count:
        return key
    null = Const(key.type.nullable(), None)
    if not members:
        return null
    inside = Call(DataTypes.BOOLEAN(False), "IN", (which, *(Const(which.type, m) for m in members)))
    return Call(key.type.nullable(), "CASE", (inside, key, null))


def _by_set(which: Rex, values: list[int]) -> Rex:
    """The value of the row's set."""
    bigint = DataTypes.BIGINT(False)
    parts: list[Rex] = []
    for number, value in enumerate(values[:-1]):
        test = Call(DataTypes.BOOLEAN(False), "=", (which, Const(which.type, number)))
        parts += [test, Const(bigint, value)]
    last = Const(bigint, values[-1])
    return Call(bigint, "CASE", (*parts, last)) if parts else last


def _grouping_value(call: AggCall, chosen: tuple[int, ...]) -> int:
    value = 0
    for arg in call.args:
        assert isinstance(arg, Const)
        value = value * 2 + (arg.value not in chosen)
    return value


def _shifted(spec: AggSpec, by: int) -> AggSpec:
    args = tuple(a + by for a in spec.args)
    return replace(spec, args=args, filter=None if spec.filter is None else spec.filter + by)


def _shown(plan: Aggregate, places: list[int], key_count: int) -> list[Rex]:
    """The plan's columns; `places` says where the operator has keys, set number, grouping calls, other calls."""
    shown: list[Rex] = [
        InputRef(f.type, places[i], f.time) for i, f in enumerate(plan.fields[: len(plan.keys)])
    ]
    grouping, at = len(plan.keys) + 1, key_count
    for call, field in zip(plan.calls, plan.fields[len(plan.keys) :], strict=True):
        if call.name in GROUPING_CALLS:
            shown.append(InputRef(field.type, places[grouping]))
            grouping += 1
        else:
            shown.append(InputRef(field.type, places[at]))
            at += 1
    return shown
