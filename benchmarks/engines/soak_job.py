"""The job of `benchmarks/soak.py`: soak_job.py FOLDER RECORDS_PER_SECOND TICK_SECONDS. It never ends."""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Any

from penstock.common import Configuration, Encoder, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows

KEYS = 20_000
FOLDER, RATE, TICK_SECONDS = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


class Created(TimestampAssigner):
    def extract_timestamp(self, value: tuple[int, int], record_timestamp: int) -> int:
        return value[1]


class Count(KeyedProcessFunction):
    """Counts by key; a timer forgets a key that was quiet for a minute."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[int, int], ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[1] // 60_000 * 60_000 + 60_000)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        self.count.clear()


configuration = Configuration()
for key, setting in {
    "execution.checkpointing.dir": str(FOLDER / "checkpoints"),
    "execution.runtime-mode": "STREAMING",
    "parallelism.default": "2",
    "restart-strategy.type": "exponential-delay",
    "penstock.snapshot.background-size": "1 b",  # a state as small as this one has would be written in the epoch
    "penstock.snapshot.min-growth": "64 kb",
}.items():
    configuration.set_string(key, setting)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
pair = Types.TUPLE([Types.LONG(), Types.LONG()])
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Created())


def record(i: int) -> tuple[int, int]:
    return i * 7919 % KEYS, int(time.time() * 1000)


if TICK_SECONDS:
    burst = int(RATE * TICK_SECONDS)
    ticks = DataGeneratorSource(
        lambda i: i, 10**9, RateLimiterStrategy.per_second(1 / TICK_SECONDS), Types.LONG()
    )
    numbers = (
        env.from_source(ticks, WatermarkStrategy.no_watermarks(), "ticks", Types.LONG())
        .set_parallelism(1)
        .flat_map(lambda tick: map(record, range(tick * burst, (tick + 1) * burst)), pair)
        .assign_timestamps_and_watermarks(strategy)
    )
else:
    source = DataGeneratorSource(record, 10**12, RateLimiterStrategy.per_second(RATE), pair)
    numbers = env.from_source(source, strategy, "numbers", pair)
keyed = numbers.key_by(lambda v: v[0], Types.LONG())
windows = (
    keyed.process(Count(), pair)
    .key_by(lambda v: v[0] % 10, Types.LONG())
    .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    .reduce(lambda a, b: (a[0] + b[0], b[1]))
)
sink = FileSink.for_row_format(str(FOLDER / "out"), Encoder.simple_string_encoder())
windows.map(lambda v: str(v), Types.STRING()).sink_to(
    sink.with_rolling_policy(RollingPolicy.default_rolling_policy(rollover_interval=60_000)).build()
)
env.execute("soak")
