"""Sliding windows: the highest temperature of the last ten seconds, every five seconds.

windows   [-5, 5)  [0, 10)  [5, 15) ...      an element at 6 s is in [0, 10) and [5, 15)
"""

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, WindowFunction
from penstock.datastream.window import SlidingEventTimeWindows, TimeWindow

READINGS = [("cellar", 9, 1_000), ("cellar", 12, 6_000), ("cellar", 8, 12_000)]


class Highest(WindowFunction):
    def apply(self, key: str, window: TimeWindow, inputs: list) -> list:
        return [(key, window.start, window.end, max(reading[1] for reading in inputs))]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[2])
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(by_time)
    result = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.INT()])
    (
        readings.key_by(lambda r: r[0], Types.STRING())
        .window(SlidingEventTimeWindows.of(Duration.of_seconds(10), Duration.of_seconds(5)))
        .apply(Highest(), result)
        .print()
    )
    env.execute("highest of the last ten seconds")


if __name__ == "__main__":
    main()
