"""ProcessOperator and KeyedProcessOperator: timers, timestamps, side outputs, failures, BATCH mode."""

from __future__ import annotations

import pytest

from penstock.common.errors import UserFunctionError, ValidationError
from penstock.common.ids import MAX_WATERMARK, MIN_TIMESTAMP, MIN_WATERMARK
from penstock.common.typeinfo import Types
from penstock.functions import KeyedProcessFunction, ProcessFunction
from penstock.functions.output_tag import OutputTag
from penstock.operators.map import MapOperator
from penstock.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.state.descriptors import ValueStateDescriptor
from penstock.testing import (
    KeyedOneInputOperatorTestHarness,
    OneInputOperatorTestHarness,
    StreamRecord,
    watermark,
)


def keyed(function, **options):
    return KeyedOneInputOperatorTestHarness(KeyedProcessOperator(function, lambda v: v[0]), **options)


class Timers(KeyedProcessFunction):
    """An element (key, [times]) registers timers; a firing tells what it sees; `more` registers another."""

    def __init__(self, more=None, processing=False):
        self.more = more or {}
        self.processing = processing

    def register(self, ctx, time):
        service = ctx.timer_service()
        if self.processing:
            service.register_processing_time_timer(time)
        else:
            service.register_event_time_timer(time)

    def process_element(self, value, ctx):
        for time in value[1]:
            self.register(ctx, time)

    def on_timer(self, timestamp, ctx):
        if timestamp in self.more:
            self.register(ctx, self.more[timestamp])
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain().name


def test_timers_fire_in_time_order_before_the_watermark_goes_on():
    harness = keyed(Timers())
    harness.process_elements([("b", [7, 3]), ("a", [5, 5])])
    harness.process_watermark(6)
    assert harness.get_output() == [
        StreamRecord(("b", 3, 3, "EVENT_TIME"), 3),
        StreamRecord(("a", 5, 5, "EVENT_TIME"), 5),
        watermark(6),
    ]


def test_a_timer_registered_behind_the_watermark_waits_for_the_next_one():
    harness = keyed(Timers(more={3: 4}))
    harness.process_element(("k", [3, 5]))
    harness.process_watermark(10)
    assert [v[1] for v in harness.extract_output_values()] == [3, 5]
    harness.process_watermark(11)
    assert [v[1] for v in harness.extract_output_values()] == [3, 5, 4]


def test_at_the_last_watermark_timers_fire_until_none_is_left():
    harness = keyed(Timers(more={3: 4, 4: 2, 2: MAX_WATERMARK}))
    harness.process_element(("k", [3]))
    harness.process_watermark(MAX_WATERMARK)
    assert [v[1] for v in harness.extract_output_values()] == [3, 4, 2, MAX_WATERMARK]


def test_processing_time_timers_fire_by_the_epochs_clock_and_emit_without_timestamp():
    harness = keyed(Timers(processing=True))
    harness.process_element(("k", [100, 200]))
    harness.set_processing_time(150)
    assert harness.get_output() == [StreamRecord(("k", 100, 100, "PROCESSING_TIME"))]
    harness.set_processing_time(200)
    assert [v[1] for v in harness.extract_output_values()] == [100]
    assert harness.operator.next_processing_timer() == 201
    harness.set_processing_time(201)
    assert [v[1] for v in harness.extract_output_values()] == [100, 200]


def test_a_processing_time_timer_for_now_registered_in_on_timer_waits_for_the_next_epoch():
    harness = keyed(Timers(processing=True, more={100: 150}))
    harness.process_element(("k", [100]))
    harness.set_processing_time(150)
    assert [v[1] for v in harness.extract_output_values()] == [100]
    harness.set_processing_time(151)
    assert [v[1] for v in harness.extract_output_values()][:2] == [100, 150]


def test_timers_and_state_survive_a_change_of_parallelism():
    class Remember(Timers):
        def open(self, runtime_context):
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

        def process_element(self, value, ctx):
            self.seen.update((self.seen.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(10)

        def on_timer(self, timestamp, ctx):
            yield ctx.get_current_key(), self.seen.value()

    harness = keyed(Remember(), key_type=Types.STRING())
    keys = [f"key-{n}" for n in range(40)]
    harness.process_elements([(key,) for key in keys + keys[:7]])
    saved = harness.snapshot()
    fired = []
    for subtask in range(3):
        part = keyed(Remember(), key_type=Types.STRING(), restore=[saved], subtask=subtask, parallelism=3)
        part.process_watermark(10)
        assert 0 < len(part.extract_output_values()) < 40
        fired += part.extract_output_values()
    assert sorted(fired) == sorted((key, 2 if key in keys[:7] else 1) for key in keys)


def test_timestamp_is_the_smallest_number_without_event_time():
    class Stamp(ProcessFunction):
        def process_element(self, value, ctx):
            yield ctx.timestamp()

    harness = OneInputOperatorTestHarness(ProcessOperator(Stamp()))
    harness.process_element("x")
    harness.process_element("y", 5)
    assert harness.get_output() == [StreamRecord(MIN_TIMESTAMP), StreamRecord(5, 5)]


def test_tagged_results_go_to_their_side_output():
    odd = OutputTag("odd")

    class Split(ProcessFunction):
        def process_element(self, value, ctx):
            if value % 2:
                yield odd, value
            else:
                yield value, "even"

    harness = OneInputOperatorTestHarness(ProcessOperator(Split()))
    harness.process_elements([1, 2, 3], [10, 20, 30])
    assert harness.extract_output_values() == [(2, "even")]
    assert harness.get_side_output(odd) == [StreamRecord(1, 10), StreamRecord(3, 30)]


def test_a_failing_function_names_the_element_and_shows_only_the_users_frames():
    class Fails(KeyedProcessFunction):
        def process_element(self, value, ctx):
            return [1 // value[1]]

    harness = keyed(Fails())
    with pytest.raises(UserFunctionError) as caught:
        harness.process_elements([("a", 1), ("b", 0)])
    text = str(caught.value)
    assert "KeyedProcessFunction 'Fails' failed on an element: ZeroDivisionError" in text
    assert "value ('b', 0)" in text
    assert "test_process.py" in text and "operators/keyed.py" not in text


def test_timers_without_keys_are_refused_with_advice():
    class Registers(ProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(1)

    harness = OneInputOperatorTestHarness(ProcessOperator(Registers()))
    with pytest.raises(ValidationError, match=r"key_by\(...\)"):
        harness.process_element("x")


def test_state_without_keys_is_refused_with_advice():
    class Asks(ProcessFunction):
        def open(self, runtime_context):
            runtime_context.get_state(ValueStateDescriptor("s", Types.INT()))

        def process_element(self, value, ctx):
            pass

    with pytest.raises(ValidationError, match="keyed state 's' on a stream without keys"):
        OneInputOperatorTestHarness(ProcessOperator(Asks()))


def test_batch_mode_finishes_one_key_before_the_next():
    class Trace(KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def process_element(self, value, ctx):
            assert ctx.timer_service().current_watermark() == MIN_WATERMARK
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(100)
            ctx.timer_service().register_processing_time_timer(10**15)
            yield "element", value[0]

        def on_timer(self, timestamp, ctx):
            assert ctx.timer_service().current_watermark() == MAX_WATERMARK
            yield ctx.time_domain().name, ctx.get_current_key(), self.count.value()

    harness = keyed(Trace(), batch_mode=True)
    harness.process_elements([("a",), ("a",), ("b",)], [1, 2, 1])
    harness.process_element(("b",), 5)
    harness.process_watermark(MAX_WATERMARK)
    assert harness.extract_output_values() == [
        ("element", "a"),
        ("element", "a"),
        ("EVENT_TIME", "a", 2),
        ("PROCESSING_TIME", "a", 2),
        ("element", "b"),
        ("element", "b"),
        ("EVENT_TIME", "b", 2),
        ("PROCESSING_TIME", "b", 2),
    ]


def test_what_a_function_counts_in_an_attribute_goes_on_after_a_restore():
    class Counting(ProcessFunction):
        def __init__(self):
            self.count = 0

        def process_element(self, value, ctx):
            self.count += 1
            yield self.count

    harness = OneInputOperatorTestHarness(ProcessOperator(Counting()))
    harness.process_elements(["a", "b"])
    again = OneInputOperatorTestHarness(ProcessOperator(Counting()), restore=harness.snapshot())
    again.process_element("c")
    assert again.extract_output_values() == [3]


def test_an_error_of_our_own_is_not_its_own_cause():
    cause = KeyError("first")

    def fails(value):
        raise ValidationError("no") from cause

    harness = OneInputOperatorTestHarness(MapOperator(fails))
    with pytest.raises(ValidationError) as raised:
        harness.process_element(1)
    assert isinstance(raised.value.__cause__, KeyError)
