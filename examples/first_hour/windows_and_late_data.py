"""Sums per minute of event time, and puts aside what comes after its minute was reported.

reading      5 s   20 s   70 s            130 s     30 s
watermark    5 s   20 s   70 s            130 s
                          ▲ the first minute is over: its sum leaves   ▲ late
"""

from penstock.common import Time, Types
from penstock.common.watermark_strategy import (
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows

KIND = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
LATE = OutputTag("late", KIND)
READINGS = [
    ("roof", 1, 5_000),
    ("roof", 2, 20_000),
    ("roof", 4, 70_000),
    ("roof", 8, 130_000),
    ("roof", 16, 30_000),
]


class InOrder(WatermarkGenerator):
    """Expects readings in order: the watermark follows each of them at once."""

    def on_event(self, event: tuple, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_generator(InOrder).with_timestamp_assigner(lambda reading, _: reading[2])
readings = env.from_collection(READINGS, KIND).assign_timestamps_and_watermarks(strategy)
sums = (
    readings.key_by(lambda reading: reading[0], Types.STRING())
    .window(TumblingEventTimeWindows.of(Time.minutes(1)))
    .side_output_late_data(LATE)
    .reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2])))
)
sums.print("minute")
sums.get_side_output(LATE).print("late")
env.execute("sums per minute")
