"""Jobs for tests of the REST interface: they run in this process, without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.running_job import RunningJob
from tests.runtime.in_process import start

COUNTED = Types.TUPLE([Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value: int, ctx: Any) -> Any:
        self.seen.inc()
        if value == self.fails_at:
            raise RuntimeError(f"cannot count {value}")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value % 5, count


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def counting_job(
    settings: dict[str, str] | None = None, fails_at: int | None = None, last: int | None = None
) -> RunningJob:
    """Two vertices: a source with one subtask, and a count by key with two."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda i: i, last, RateLimiterStrategy.per_second(500), Types.LONG())
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    stream = env.from_source(source, times, "numbers", Types.LONG()).set_parallelism(1)
    counts = stream.key_by(lambda v: v % 5, key_type=Types.LONG()).process(Count(fails_at), COUNTED)
    counts = counts.set_parallelism(2).name("count").uid("counts")
    end = counts.map(lambda pair: pair, COUNTED).set_parallelism(2).name("as it is")
    return start([end._transformation], settings)


def wait_for(condition: Callable[[], Any], seconds: float = 240.0) -> Any:
    """What the condition answers when it holds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s; last seen: {found!r}")
