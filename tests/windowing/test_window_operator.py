"""Window behaviour that the random model does not cover: triggers, evictors, state, processing time, counts."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.common.ids import MAX_WATERMARK
from penstock.common.time import Duration, Time
from penstock.common.typeinfo import Types
from penstock.functions import (
    AggregateFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from penstock.operators.window_factory import build_window_operator
from penstock.state.descriptors import ValueStateDescriptor
from penstock.testing import KeyedOneInputOperatorTestHarness, StreamRecord
from penstock.windowing import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)


def collect(key, window, inputs):
    yield key, list(inputs)


def windowed(assigner, *, select=lambda v: "k", restore=(), **options):
    options.setdefault("window_function", collect)
    operator = build_window_operator(assigner=assigner, key_selector=select, **options)
    return KeyedOneInputOperatorTestHarness(operator, restore=restore)


def fired(harness):
    return [value[1] for value in harness.extract_output_values()]


def test_results_carry_the_last_timestamp_of_their_window():
    harness = windowed(TumblingEventTimeWindows.of(Time.seconds(1)))
    harness.process_element("x", 1_500)
    harness.process_watermark(1_999)
    assert harness.get_output()[0] == StreamRecord(("k", ["x"]), 1_999)


def test_continuous_trigger_skips_intervals_that_the_watermark_jumps_over():
    harness = windowed(
        TumblingEventTimeWindows.of(Time.seconds(10)), trigger=ContinuousEventTimeTrigger.of(Time.seconds(3))
    )
    for number, time in enumerate((1000, 2000, 4000, 5000, 7000, 9500, 10500)):
        harness.process_element(number, time)
        harness.process_watermark(time)
    assert fired(harness) == [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]


def test_continuous_processing_time_trigger_fires_at_each_interval():
    harness = windowed(GlobalWindows.create(), trigger=ContinuousProcessingTimeTrigger.of(Time.seconds(1)))
    harness.process_element("a")
    harness.set_processing_time(1_001)
    harness.process_element("b")
    harness.set_processing_time(2_500)
    assert fired(harness) == [["a"], ["a", "b"]]


def test_processing_time_windows_fire_by_the_epochs_clock_and_stay_open_at_the_end_of_input():
    harness = windowed(TumblingProcessingTimeWindows.of(Time.seconds(1)))
    harness.process_elements(["a", "b"])
    harness.set_processing_time(999)
    harness.process_element("c")
    harness.set_processing_time(1_000)
    assert harness.get_output() == [StreamRecord(("k", ["a", "b", "c"]), 999)]
    harness.process_element("d")
    harness.process_watermark(MAX_WATERMARK)
    assert fired(harness) == [["a", "b", "c"]]


def test_processing_time_sessions_grow_while_elements_come():
    harness = windowed(ProcessingTimeSessionWindows.with_gap(Time.milliseconds(10)))
    for now in (0, 8, 16, 40):
        harness.set_processing_time(now)
        harness.process_element(now)
    harness.set_processing_time(100)
    assert fired(harness) == [[0, 8, 16], [40]]


def test_count_windows_fire_only_when_full():
    def run(assigner):
        harness = windowed(assigner)
        harness.process_elements([1, 2, 3])
        harness.cut()
        harness.process_elements([4, 5, 6, 7, 8])
        return fired(harness)

    assert run(CountTumblingWindowAssigner.of(3)) == [[1, 2, 3], [4, 5, 6]]
    assert run(CountSlidingWindowAssigner.of(4, 2)) == [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]
    assert run(CountSlidingWindowAssigner.of(2, 3)) == [[1, 2], [4, 5], [7, 8]]


def test_full_count_windows_leave_nothing_behind():
    harness = windowed(CountTumblingWindowAssigner.of(2), reduce=lambda a, b: a + b, window_function=None)
    harness.process_elements([1, 2, 3, 4])
    assert harness.extract_output_values() == [3, 7]
    harness.operator.backend.set_current_key("k")
    for number in range(2):
        harness.operator.backend.set_current_namespace(CountWindow(number))
        assert harness.operator.contents.get() is None


def test_end_of_stream_windows_fire_once_at_the_end():
    harness = windowed(GlobalWindows.create_with_end_of_stream_trigger())
    harness.process_elements([1, 2], [5, 3])
    harness.process_watermark(10)
    assert fired(harness) == []
    harness.process_watermark(MAX_WATERMARK)
    assert fired(harness) == [[1, 2]]


def test_evictors_take_elements_out_before_or_after():
    def run(evictor, **options):
        harness = windowed(GlobalWindows.create(), trigger=CountTrigger.of(3), evictor=evictor, **options)
        harness.process_elements([1, 2, 3, 4, 5, 9], [1, 2, 3, 4, 5, 9])
        return fired(harness)

    assert run(CountEvictor.of(2)) == [[2, 3], [5, 9]]
    assert run(CountEvictor.of(1, True)) == [[1, 2, 3], [3, 4, 5, 9]]
    assert run(TimeEvictor.of(Duration.of_millis(4))) == [[1, 2, 3], [9]]
    assert run(DeltaEvictor.of(4, lambda old, new: new - old)) == [[1, 2, 3], [9]]


def test_reduce_and_aggregate_with_an_evictor_see_what_is_left():
    class Mean(AggregateFunction):
        def create_accumulator(self):
            return (0, 0)

        def add(self, value, accumulator):
            return accumulator[0] + value, accumulator[1] + 1

        def get_result(self, accumulator):
            return accumulator[0] / accumulator[1]

        def merge(self, acc_a, acc_b):
            return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

    for functions, expected in [({"reduce": lambda a, b: a + b}, 5), ({"aggregate": Mean()}, 2.5)]:
        harness = windowed(
            GlobalWindows.create(),
            trigger=CountTrigger.of(3),
            evictor=CountEvictor.of(2),
            window_function=None,
            **functions,
        )
        harness.process_elements([1, 2, 3])
        assert harness.extract_output_values() == [expected]


def test_delta_trigger_fires_when_the_value_has_moved_far_enough():
    harness = windowed(
        GlobalWindows.create(), trigger=PurgingTrigger.of(DeltaTrigger.of(2, lambda a, b: b - a))
    )
    harness.process_elements([1, 2, 3, 4, 5, 8])
    assert fired(harness) == [[1, 2, 3, 4], [5, 8]]


def test_timeout_trigger_fires_what_the_nested_trigger_has_not():
    trigger = ProcessingTimeoutTrigger.of(PurgingTrigger.of(CountTrigger.of(3)), Duration.of_millis(100))
    harness = windowed(GlobalWindows.create(), trigger=PurgingTrigger.of(trigger))
    harness.process_elements([1, 2, 3])
    harness.process_element(4)
    harness.set_processing_time(101)
    assert fired(harness) == [[1, 2, 3], [4]]


class PerWindow(ProcessWindowFunction):
    """Counts firings per window and over all, both under one name, and notes what is cleared."""

    descriptor = ValueStateDescriptor("firings", Types.INT())

    def __init__(self):
        self.cleared = []

    def process(self, key, context, elements):
        counts = []
        for store in (context.window_state(), context.global_state()):
            state = store.get_state(self.descriptor)
            state.update((state.value() or 0) + 1)
            counts.append(state.value())
        yield context.window().start, *counts

    def clear(self, context):
        self.cleared.append(context.window().start)
        context.window_state().get_state(self.descriptor).clear()


def test_window_state_and_global_state_may_share_a_name_and_clear_comes_once_per_window():
    harness = windowed(
        TumblingEventTimeWindows(10, 0),
        allowed_lateness_ms=5,
        window_function=None,
        process_function=PerWindow(),
    )
    harness.process_elements([1, 2], [5, 15])
    harness.process_watermark(12)
    harness.process_element(3, 6)
    harness.process_watermark(30)
    assert harness.extract_output_values() == [(0, 1, 1), (0, 2, 2), (10, 1, 3)]
    assert harness.operator.functions()["function"].cleared == [0, 10]


def test_window_state_is_refused_for_sessions():
    harness = windowed(EventTimeSessionWindows(5), window_function=None, process_function=PerWindow())
    harness.process_element(1, 1)
    with pytest.raises(ValidationError, match="use global_state"):
        harness.process_watermark(100)


def test_an_element_that_bridges_two_sessions_merges_their_reduced_values():
    harness = windowed(EventTimeSessionWindows(5), reduce=lambda a, b: a + b, window_function=None)
    harness.process_elements([1, 10, 100], [0, 8, 4])
    harness.process_watermark(100)
    assert harness.get_output()[0] == StreamRecord(111, 12)


def test_all_windows_have_no_key():
    class All(ProcessAllWindowFunction):
        def process(self, context, elements):
            yield context.window().end, sorted(elements)

    harness = windowed(
        TumblingEventTimeWindows(10, 0),
        select=lambda v: 0,
        window_function=None,
        process_function=All(),
        all_windows=True,
    )
    harness.process_elements([3, 1], [3, 1])
    harness.process_watermark(9)
    assert harness.extract_output_values() == [(10, [1, 3])]


def test_late_elements_are_counted_when_nobody_wants_them():
    harness = windowed(TumblingEventTimeWindows(10, 0))
    harness.process_watermark(100)
    harness.process_elements([1, 2], [50, 99])
    assert harness.counter("numLateRecordsDropped") == 2


@pytest.mark.parametrize("key", [1, "a", b"a", (1, "a"), 1.5, True, None, ("a", 2.5)])
@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows(4, 0), SlidingEventTimeWindows(4, 2, 0)])
def test_keys_of_any_type_work_on_the_fast_paths(key, assigner):
    harness = windowed(assigner, select=lambda v: key, reduce=lambda a, b: a + b)
    harness.process_elements([1, 2], [4, 5])
    harness.cut()
    harness.process_element(3, 4)
    harness.process_watermark(100)
    assert set(map(str, fired(harness))) == {"[6]"}
    assert harness.extract_output_values()[0][0] == key


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows(4, 0), SlidingEventTimeWindows(4, 2, 0)])
def test_true_one_and_one_point_zero_are_three_keys(assigner):
    harness = windowed(assigner, select=lambda v: v, reduce=lambda a, b: b)
    harness.process_elements([1, True, 1.0, 1, True, 1.0], [4] * 6)
    harness.process_watermark(5)
    by_type = sorted(type(value[0]).__name__ for value in harness.extract_output_values())
    if isinstance(assigner, SlidingEventTimeWindows):
        assert by_type == ["bool", "float", "int"]
    harness.process_watermark(7)
    by_type = sorted({type(value[0]).__name__ for value in harness.extract_output_values()})
    assert by_type == ["bool", "float", "int"]


def test_aggregates_without_merge_do_not_share_panes():
    class NoMerge(AggregateFunction):
        def create_accumulator(self):
            return 0

        def add(self, value, accumulator):
            return accumulator + value

        def get_result(self, accumulator):
            return accumulator

        def merge(self, acc_a, acc_b):
            pass

    harness = windowed(SlidingEventTimeWindows(4, 2, 0), aggregate=NoMerge(), window_function=None)
    harness.process_elements([1, 2], [3, 5])
    harness.process_watermark(100)
    assert harness.extract_output_values() == [1, 3, 2]


def test_an_event_time_window_without_timestamps_says_what_was_forgotten():
    for options in ({}, {"reduce": lambda a, b: a, "window_function": None}):
        harness = windowed(TumblingEventTimeWindows(10, 0), **options)
        with pytest.raises(ValidationError, match="assign_timestamps_and_watermarks"):
            harness.process_element("x")


def test_a_trigger_that_cannot_merge_is_refused_for_sessions():
    with pytest.raises(ValidationError, match="cannot be used with merging windows"):
        windowed(EventTimeSessionWindows(5), trigger=DeltaTrigger.of(1, lambda a, b: b - a))


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows(0, 0),
        lambda: TumblingEventTimeWindows(10, 10),
        lambda: SlidingEventTimeWindows(10, 0, 0),
        lambda: EventTimeSessionWindows(-1),
        lambda: CountTumblingWindowAssigner(0),
    ],
)
def test_impossible_windows_are_refused_when_they_are_made(make):
    with pytest.raises(ValidationError):
        make()


def test_staggered_windows_are_moved_by_a_constant():
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(10), None, WindowStagger.NATURAL)
    harness = windowed(assigner, reduce=lambda a, b: a + b, window_function=None)
    harness.set_processing_time(3)
    harness.process_elements([1, 2, 4], [3, 12, 13])
    harness.process_watermark(100)
    assert [e for e in harness.get_output() if isinstance(e, StreamRecord)] == [
        StreamRecord(3, 12),
        StreamRecord(4, 22),
    ]


def test_windows_survive_a_change_of_parallelism():
    def key(value):
        return value

    for assigner in (
        TumblingEventTimeWindows(10, 0),
        SlidingEventTimeWindows(10, 10, 0),
        EventTimeSessionWindows(5),
    ):
        operator = build_window_operator(
            assigner=assigner, reduce=lambda a, b: a, window_function=collect, key_selector=key
        )
        harness = KeyedOneInputOperatorTestHarness(operator)
        harness.process_elements(list(range(30)), [3] * 30)
        saved = harness.snapshot()
        seen = []
        for subtask in range(4):
            part = KeyedOneInputOperatorTestHarness(operator, restore=saved, subtask=subtask, parallelism=4)
            part.process_watermark(MAX_WATERMARK)
            seen += [value[0] for value in part.extract_output_values()]
        assert sorted(seen) == list(range(30))


class Opened:
    """What happened to the copies of a function, in whichever way they are pickled."""

    events: list[str] = []

    def open(self, runtime_context):
        self.events.append(f"open {runtime_context.get_index_of_this_subtask()}")
        self.factor = 10
        with pytest.raises(ValidationError, match="reduces or aggregates the elements of a window") as caught:
            runtime_context.get_state(ValueStateDescriptor("s", Types.LONG()))
        assert "accumulator" in str(caught.value)

    def close(self):
        self.events.append("close")


class OpenedSum(Opened, AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value * self.factor

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class OpenedReduce(Opened, ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2 * self.factor


@pytest.mark.parametrize("evictor", [None, CountEvictor.of(10)], ids=["combined", "evicting"])
@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.seconds(1)),
        SlidingEventTimeWindows.of(Time.seconds(1), Time.seconds(1)),
        EventTimeSessionWindows.with_gap(Time.seconds(1)),
        CountTumblingWindowAssigner.of(2),
    ],
    ids=lambda assigner: type(assigner).__name__,
)
@pytest.mark.parametrize("functions", [{"aggregate": OpenedSum()}, {"reduce": OpenedReduce()}], ids=str)
def test_functions_that_combine_elements_are_opened_without_state(assigner, functions, evictor):
    Opened.events.clear()
    harness = windowed(assigner, evictor=evictor, window_function=None, **functions)
    harness.process_elements([1, 2], [1, 2])
    harness.process_watermark(10_000)
    assert harness.extract_output_values() == [30 if "aggregate" in functions else 21]
    harness.close()
    assert Opened.events == ["open 0", "close"]
