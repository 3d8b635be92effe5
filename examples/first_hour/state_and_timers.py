"""Keeps state per key and sets timers: which sensors were silent for a minute?

A timer of event time fires when the watermark passes it: when no older reading is expected any more.
"""

from collections.abc import Iterator

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

MINUTE = 60_000
READINGS = [("cellar", 0), ("roof", 10_000), ("roof", 50_000), ("roof", 100_000), ("roof", 150_000)]


class Silence(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        # The state of the key whose reading is being processed; another key has another value.
        self.last_seen = runtime_context.get_state(ValueStateDescriptor("last seen", Types.LONG()))

    def process_element(self, value: tuple, ctx: KeyedProcessFunction.Context) -> None:
        self.last_seen.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + MINUTE)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        if self.last_seen.value() + MINUTE == timestamp:  # nothing has come since this timer was set
            yield f"{ctx.get_current_key()} is silent since {self.last_seen.value() // 1000} s"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
by_time = by_time.with_timestamp_assigner(lambda reading, _: reading[1])
readings = env.from_collection(READINGS, Types.TUPLE([Types.STRING(), Types.LONG()]))
readings = readings.assign_timestamps_and_watermarks(by_time)
readings.key_by(lambda reading: reading[0], Types.STRING()).process(Silence(), Types.STRING()).print()
env.execute("silent sensors")
