"""Late data: a window keeps taking elements for a while after its end; what comes later still is put aside."""

from penstock.common import Duration, Time, Types
from penstock.common.watermark_strategy import (
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows

LATE = OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))
EVENTS = [("a", 1_000), ("b", 9_000), ("c", 12_000), ("d", 2_000), ("e", 40_000), ("f", 3_000)]


class EveryEvent(WatermarkGenerator):
    """The watermark follows each event at once."""

    def on_event(self, event: tuple, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp - 1))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_generator(EveryEvent).with_timestamp_assigner(lambda event, _: event[1])
    events = env.from_collection(EVENTS, LATE.type_info).assign_timestamps_and_watermarks(strategy)
    counted = (
        events.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        .allowed_lateness(Duration.of_seconds(10))
        .side_output_late_data(LATE)
        .reduce(lambda x, y: (x[0] + y[0], max(x[1], y[1])))
    )
    counted.print("window")  # "ab", then "abd" when d comes late but in time
    counted.get_side_output(LATE).print("late")  # f
    env.execute("late data")


if __name__ == "__main__":
    main()
