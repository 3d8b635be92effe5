"""A slow function is given up for the epoch when its time is over, and goes on in the next one."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.errors import ExternalSystemError
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.collect import CollectSink
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.in_process import forget
from tests.runtime.in_process import Chaos, collect, start

COUNTED = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
HASTE = {"execution.epoch.target": "1 ms", "execution.runtime-mode": "STREAMING"}
ELEMENTS = 120


class SlowCount(KeyedProcessFunction):
    """Counts by key; registers a timer for each element, so that watermarks matter too."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        time.sleep(0.001)
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(value)
        yield value % 5, value, count

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -timestamp, self.count.value() or 0


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def counts(parallelism: int = 1) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(range(ELEMENTS)), Types.LONG()).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    )
    return (
        stream.key_by(lambda v: v % 5, key_type=Types.LONG())
        .process(SlowCount(), COUNTED)
        .set_parallelism(parallelism)
        .uid("count")
    )


EXPECTED = sorted((n % 5, n, n // 5 + 1) for n in range(1, ELEMENTS))
"""Of element 0 the row of its timer looks the same, so both are left out."""


def of_elements(rows: list[Any]) -> list[tuple[int, int, int]]:
    return sorted(tuple(row) for row in rows if row[1] > 0)


def of_timers(rows: list[Any]) -> list[int]:
    return sorted(-row[1] for row in rows if row[1] < 0)


def test_elements_behind_an_exchange_wait_and_lose_neither_order_nor_timers() -> None:
    rows = collect(counts(2), HASTE)
    assert of_elements(rows) == EXPECTED
    assert of_timers(rows) == list(range(1, ELEMENTS))


def test_an_epoch_ends_though_more_was_read_than_it_can_process() -> None:
    transformation = counts()._transformation
    sink = CollectSink(transformation.output_type)
    end = SinkTransformation("collect", (transformation,), parallelism=1, sink=sink)
    job = start([end], HASTE)
    seen = list(sink.iterator(job))
    job.wait(60)
    assert len(seen) == 2 * ELEMENTS
    assert job.statistics.epochs > 10


def test_a_slow_function_in_the_source_s_stage_waits_too() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    def slow(value: int) -> int:
        time.sleep(0.001)
        return value

    stream = env.from_collection(list(range(ELEMENTS)), Types.LONG()).map(slow, Types.LONG())
    transformation = stream._transformation
    sink = CollectSink(transformation.output_type)
    job = start([SinkTransformation("collect", (transformation,), parallelism=1, sink=sink)], HASTE)
    seen = list(sink.iterator(job))
    job.wait(60)
    assert seen == list(range(ELEMENTS))
    assert job.statistics.epochs > 10


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_waits_survives_failures_and_lost_processes(seed: int) -> None:
    settings = {**HASTE, "restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000",
                "restart-strategy.fixed-delay.delay": "0 s"}  # fmt: skip
    chaos = Chaos(seed, 0.1)
    rows = collect(counts(2), settings, chaos)
    assert chaos.failures > 0
    assert of_elements(rows) == EXPECTED
    assert of_timers(rows) == list(range(1, ELEMENTS))


@pytest.mark.parametrize("parallelism", [1, 3])
def test_what_waits_goes_to_its_owners_at_another_parallelism(
    parallelism: int, tmp_path: pathlib.Path
) -> None:
    settings = {
        **HASTE,
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }

    def give_up(plan: Any, partition: int) -> None:
        if plan.epoch == 4:
            forget()
            raise ExternalSystemError("stopped by the test")

    before: list[Any] = []
    transformation = counts(2)._transformation
    sink = CollectSink(transformation.output_type)
    end = SinkTransformation("collect", (transformation,), parallelism=1, sink=sink)
    job = start([end], {**settings, "restart-strategy.type": "none"}, give_up)
    with pytest.raises(Exception, match="stopped by the test"):
        for row in sink.iterator(job):
            before.append(row)
        job.wait(60)
    assert 0 < len(of_elements(before)) < ELEMENTS // 2
    checkpoint = max(tmp_path.glob("*/chk-*"), key=lambda path: int(path.name[4:]))
    after = collect(counts(parallelism), {**HASTE, "execution.state-recovery.path": str(checkpoint)})
    assert len(of_elements(after)) == len(set(of_elements(after)))
    # The output of the last epoch is published once more when a job starts from its checkpoint.
    assert sorted(set(of_elements([*before, *after]))) == EXPECTED
