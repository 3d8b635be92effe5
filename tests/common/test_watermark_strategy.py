from __future__ import annotations

import pickle

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.ids import MIN_WATERMARK
from penstock.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    TimestampAssigner,
    Watermark,
    WatermarkAlignment,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarksWithIdleness,
)


class Recorder(WatermarkOutput):
    def __init__(self) -> None:
        self.seen: list[object] = []

    def emit_watermark(self, watermark: Watermark) -> None:
        self.seen.append(watermark.timestamp)

    def mark_idle(self) -> None:
        self.seen.append("idle")

    def mark_active(self) -> None:
        self.seen.append("active")


def watermarks(strategy: WatermarkStrategy, timestamps: list[int]) -> list[object]:
    """What the strategy's generator emits when it is asked after every element."""
    generator, output = strategy.create_generator(), Recorder()
    generator.on_periodic_emit(output)
    for timestamp in timestamps:
        generator.on_event(None, timestamp, output)
        generator.on_periodic_emit(output)
    return output.seen


def test_bounded_out_of_orderness_stays_behind_the_greatest_timestamp():
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
    assert watermarks(strategy, [5, 7, 6, 9]) == [MIN_WATERMARK, 1, 3, 3, 5]


def test_monotonous_timestamps_have_no_delay():
    assert watermarks(WatermarkStrategy.for_monotonous_timestamps(), [5, 7]) == [MIN_WATERMARK, 4, 6]


def test_no_watermarks_emits_nothing():
    assert watermarks(WatermarkStrategy.no_watermarks(), [5, 7]) == []


class Punctuated(WatermarkGenerator):
    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp % 2 == 0:
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_a_program_may_bring_its_own_generator():
    assert watermarks(WatermarkStrategy.for_generator(Punctuated), [1, 2, 3, 4]) == [2, 4]
    assert watermarks(WatermarkStrategy.for_generator(lambda: Punctuated()), [2]) == [2]
    with pytest.raises(ValidationError, match="does not make watermark generators"):
        WatermarkStrategy.for_generator(Punctuated())  # type: ignore[arg-type]


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


def test_refinements_keep_each_other_whatever_their_order():
    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(Second())
        .with_idleness(Duration.of_seconds(5))
        .with_watermark_alignment("group", Duration.of_seconds(20), Duration.of_millis(100))
    )
    assert strategy.timestamp_assigner.extract_timestamp(("a", 7), -1) == 7
    assert strategy.idle_timeout_ms == 5_000
    assert strategy.alignment == WatermarkAlignment("group", 20_000, 100)
    assert strategy.create_generator().current_watermark() == MIN_WATERMARK


def test_a_function_may_assign_timestamps():
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, ts: value + ts)
    assert strategy.timestamp_assigner.extract_timestamp(1, 2) == 3
    with pytest.raises(ValidationError, match="not a timestamp assigner"):
        strategy.with_timestamp_assigner(42)  # type: ignore[arg-type]


def test_each_split_gets_a_generator_of_its_own():
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    first, second = strategy.create_generator(), strategy.create_generator()
    first.on_event(None, 100, Recorder())
    assert (first.current_watermark(), second.current_watermark()) == (99, MIN_WATERMARK)


def test_generators_carry_their_state_through_a_checkpoint():
    generator = BoundedOutOfOrdernessWatermarks(10)
    generator.on_event(None, 100, Recorder())
    assert pickle.loads(pickle.dumps(generator)).current_watermark() == 89
    assert pickle.loads(pickle.dumps(WatermarkStrategy.no_watermarks())).create_generator().__class__ is (
        NoWatermarksGenerator
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)),
        lambda: WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(0)),
    ],
)
def test_lengths_of_time_that_mean_nothing_are_refused(make):
    with pytest.raises(ValidationError):
        make()


def test_java_assigners_are_not_supported():
    with pytest.raises(NotSupportedError, match="Flink JVM"):
        AssignerWithPeriodicWatermarksWrapper(object())


def test_a_wrapped_generator_becomes_idle_once_and_active_again():
    now = [0]
    generator = WatermarksWithIdleness(
        BoundedOutOfOrdernessWatermarks(0), Duration.of_millis(100), clock=lambda: now[0]
    )
    output = Recorder()
    generator.on_event(None, 10, output)
    generator.on_periodic_emit(output)
    for now[0] in (100, 200):
        generator.on_periodic_emit(output)
    generator.on_event(None, 20, output)
    generator.on_periodic_emit(output)
    assert output.seen == [9, "idle", "active", 19]
