"""Windowed streams: settings, checks, and the operators they become."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.datastream import (
    AggregateFunction,
    AllWindowFunction,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    TimeCharacteristic,
    WindowFunction,
)
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingProcessingTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from tests.datastream.programs import new_env, operator_of

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
MINUTE = TumblingEventTimeWindows.of(Duration.of_minutes(1))


def pairs(env: Any = None) -> Any:
    env = env or new_env(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: v[1])
    elements = [("a", 1), ("b", 2), ("a", 3), ("a", 70_000)]
    return env.from_collection(elements, PAIR).assign_timestamps_and_watermarks(strategy)


def windowed(env: Any = None) -> Any:
    return pairs(env).key_by(lambda t: t[0], Types.STRING()).window(MINUTE)


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Show(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, window.start, list(inputs)


class ShowProcess(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().end, list(elements)


def test_a_windowed_stream_becomes_one_keyed_operator():
    result = windowed().reduce(lambda x, y: x)
    step = result.transformation
    assert step.name == "Window"
    assert step.is_keyed and step.key_type == Types.STRING()
    assert result.get_type() == PAIR


def test_window_all_runs_in_one_subtask():
    step = pairs(new_env(4)).window_all(MINUTE).reduce(lambda x, y: x).transformation
    assert (step.parallelism, step.max_parallelism) == (1, 1)


def test_result_types():
    assert windowed().reduce(lambda x, y: x, ShowProcess(), Types.STRING()).get_type() == Types.STRING()
    assert windowed().reduce(lambda x, y: x, ShowProcess()).get_type() is None
    assert windowed().aggregate(Mean(), output_type=Types.DOUBLE()).get_type() == Types.DOUBLE()
    with pytest.warns(DeprecationWarning, match="output_type"):
        assert windowed().apply(Show(), result_type=Types.STRING()).get_type() == Types.STRING()


def test_what_is_no_assigner_trigger_evictor_or_tag_is_refused():
    with pytest.raises(TypeMismatchError, match="WindowAssigner"):
        pairs().key_by(lambda t: t[0]).window(Time.seconds(5))
    with pytest.raises(TypeMismatchError, match="Trigger"):
        windowed().trigger("soon")
    with pytest.raises(TypeMismatchError, match="Evictor"):
        windowed().evictor(3)
    with pytest.raises(TypeMismatchError, match="OutputTag"):
        windowed().side_output_late_data("late")


def test_negative_lateness_and_sizes_are_refused():
    with pytest.raises(ValidationError, match="allowed lateness"):
        windowed().allowed_lateness(-1)
    with pytest.raises(ValidationError, match="count window"):
        pairs().key_by(lambda t: t[0]).count_window(0)


def test_a_merging_assigner_needs_a_trigger_that_merges():
    class Unmergeable(Trigger):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
            return TriggerResult.CONTINUE

        def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            return TriggerResult.CONTINUE

        def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            return TriggerResult.CONTINUE

        def on_merge(self, window: Any, ctx: Any) -> None:
            pass

        def clear(self, window: Any, ctx: Any) -> None:
            pass

        def can_merge(self) -> bool:
            return False

    sessions = pairs().key_by(lambda t: t[0]).window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    sessions.trigger(CountTrigger.of(2))
    with pytest.raises(TypeMismatchError, match="Unmergeable cannot merge"):
        sessions.trigger(Unmergeable())


def test_functions_of_the_wrong_kind_are_refused():
    class AllShow(AllWindowFunction):
        def apply(self, window: Any, inputs: Any) -> Any:
            return []

    with pytest.raises(TypeMismatchError, match="WindowFunction"):
        windowed().apply(AllShow())
    with pytest.raises(TypeMismatchError, match="AggregateFunction"):
        windowed().aggregate(lambda x: x)
    with pytest.raises(TypeMismatchError, match="ProcessAllWindowFunction"):
        pairs().window_all(MINUTE).process(ShowProcess())


def test_time_window_follows_the_time_characteristic_with_a_warning():
    env = new_env()
    with pytest.warns(DeprecationWarning, match="TumblingEventTimeWindows"):
        event = pairs(env).key_by(lambda t: t[0]).time_window(Time.seconds(5))
    assert isinstance(event._assigner, TumblingEventTimeWindows)
    with pytest.warns(DeprecationWarning):
        env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
        processing = pairs(env).key_by(lambda t: t[0]).time_window(Time.seconds(5), Time.seconds(1))
    assert isinstance(processing._assigner, SlidingProcessingTimeWindows)


def collected(stream: Any) -> list[Any]:
    return sorted(stream.execute_and_collect(), key=repr)


@pytest.mark.usefixtures("in_process")
class TestRunning:
    def test_reduce_with_and_without_a_window_function(self):
        def add(x: Any, y: Any) -> Any:
            return x[0], x[1] + y[1]

        assert collected(windowed().reduce(add)) == [("a", 4), ("a", 70_000), ("b", 2)]
        assert collected(windowed().reduce(add, ShowProcess()))[0] == ("a", 120_000, [("a", 70_000)])
        assert collected(windowed().reduce(add, Show()))[0] == ("a", 0, [("a", 4)])

    def test_rolling_aggregates_per_window(self):
        assert collected(windowed().sum(1)) == [("a", 4), ("a", 70_000), ("b", 2)]
        assert collected(windowed().max_by(1)) == [("a", 3), ("a", 70_000), ("b", 2)]

    def test_an_evictor_with_reduce_keeps_elements_until_the_window_fires(self):
        newest = windowed().evictor(CountEvictor.of(1)).reduce(lambda x, y: (x[0], x[1] + y[1]))
        assert collected(newest) == [("a", 3), ("a", 70_000), ("b", 2)]

    def test_an_evictor_with_aggregate_and_a_window_function(self):
        result = windowed().evictor(CountEvictor.of(1)).aggregate(Mean(), Show())
        assert collected(result) == [("a", 0, [3.0]), ("a", 60_000, [70_000.0]), ("b", 0, [2.0])]

    def test_count_windows_over_everything(self):
        class Sizes(ProcessAllWindowFunction):
            def process(self, context: Any, elements: Any) -> Any:
                yield [value for _, value in elements]

        assert collected(pairs().count_window_all(2).process(Sizes())) == [[1, 2], [3, 70_000]]

    def test_a_purging_count_trigger_fires_every_second_element(self):
        result = windowed().trigger(PurgingTrigger.of(CountTrigger.of(2))).apply(Show())
        assert collected(result) == [("a", 0, [("a", 1), ("a", 3)])]

    def test_the_late_side_output_belongs_to_the_window_operator(self):
        late = OutputTag("late", PAIR)
        result = windowed().side_output_late_data(late).reduce(lambda x, y: x)
        assert collected(result.get_side_output(late)) == []


def test_operators_are_built_from_the_settings():
    windows = windowed().allowed_lateness(Duration.of_seconds(5)).side_output_late_data(OutputTag("late"))
    assert operator_of(windows.process(ShowProcess())) is not None
    assert windows._allowed_lateness_ms == 5_000
