"""assign_timestamps_and_watermarks."""

from __future__ import annotations

from penstock.common.ids import MAX_WATERMARK, MIN_TIMESTAMP
from penstock.common.time import Duration
from penstock.common.watermark_generators import Watermark, WatermarkGenerator
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.operators.timestamps import TimestampsAndWatermarksOperator
from penstock.testing import Idleness, OneInputOperatorTestHarness, StreamRecord, watermark


class Punctuated(WatermarkGenerator):
    def on_event(self, event, event_timestamp, output):
        if event == "!":
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output):
        pass


def run(strategy, **options):
    return OneInputOperatorTestHarness(TimestampsAndWatermarksOperator(strategy, 200), **options)


def test_periodic_watermarks_come_once_at_the_end_of_the_epoch():
    harness = run(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3)).with_timestamp_assigner(
            lambda value, old: value
        )
    )
    harness.process_elements([5, 9])
    harness.process_element(7)
    harness.cut()
    assert harness.get_output() == [
        StreamRecord(5, 5),
        StreamRecord(9, 9),
        StreamRecord(7, 7),
        watermark(5),
    ]


def test_an_assigner_sees_the_old_timestamp():
    def assign(value, old):
        return (7 if old == MIN_TIMESTAMP else old + 1) + value

    harness = run(WatermarkStrategy.no_watermarks().with_timestamp_assigner(assign))
    harness.process_element(0)
    harness.process_element(0, 100)
    assert harness.get_output() == [StreamRecord(0, 7), StreamRecord(0, 101)]


def test_a_punctuated_watermark_splits_the_batch_behind_its_element():
    harness = run(WatermarkStrategy.for_generator(Punctuated))
    harness.process_elements(["a", "!", "b"], [1, 2, 3])
    assert harness.get_output() == [
        StreamRecord("a", 1),
        StreamRecord("!", 2),
        watermark(2),
        StreamRecord("b", 3),
    ]


def test_upstream_watermarks_are_ignored_but_for_the_last():
    harness = run(WatermarkStrategy.for_monotonous_timestamps())
    harness.process_element("a", 1)
    harness.process_watermark(1_000)
    harness.process_watermark(MAX_WATERMARK)
    assert harness.get_output() == [StreamRecord("a", 1), watermark(MAX_WATERMARK)]


def test_the_generator_goes_on_after_a_restore():
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    harness = run(strategy)
    harness.process_element("a", 50)
    again = run(strategy, restore=harness.snapshot())
    again.process_element("b", 20)
    again.cut()
    assert again.get_output() == [StreamRecord("b", 20)]
    assert again.operator.current_watermark == 49


def test_without_elements_for_the_timeout_the_stream_is_idle_until_the_next_one():
    harness = run(WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(100)))
    harness.process_element("a", 10)
    harness.cut()
    assert harness.operator.next_processing_timer() == 100
    harness.set_processing_time(100)
    harness.cut()
    assert harness.get_output()[-1] == Idleness(True)
    harness.process_element("b", 20)
    assert harness.get_output()[-2:] == [Idleness(False), StreamRecord("b", 20)]
