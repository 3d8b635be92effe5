"""Event-time timers: reports users who were silent for ten seconds after their last click."""

from collections.abc import Iterator

from penstock.common import Types
from penstock.common.watermark_strategy import (
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

CLICKS = [("ann", 1_000), ("bob", 2_000), ("ann", 5_000), ("cy", 20_000), ("ann", 30_000)]


class EveryClick(WatermarkGenerator):
    """Event time moves on with each click, so that timers fire between clicks."""

    def on_event(self, event: tuple, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Silent(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: tuple, ctx: KeyedProcessFunction.Context) -> None:
        self.last.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10_000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        if self.last.value() + 10_000 == timestamp:  # no click has come since
            yield f"{ctx.get_current_key()} was last seen at {self.last.value()}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_click_time = WatermarkStrategy.for_generator(EveryClick).with_timestamp_assigner(lambda c, _: c[1])
    clicks = env.from_collection(CLICKS, Types.TUPLE([Types.STRING(), Types.LONG()]))
    timed = clicks.assign_timestamps_and_watermarks(by_click_time)
    timed.key_by(lambda c: c[0], Types.STRING()).process(Silent(), Types.STRING()).print()
    env.execute("silent users")


if __name__ == "__main__":
    main()
