"""Session windows: clicks of a user belong together until there is a gap of more than five seconds."""

from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.window import EventTimeSessionWindows

CLICKS = [("ann", 1_000), ("ann", 4_000), ("bob", 4_500), ("ann", 20_000), ("ann", 23_000)]


class Session(ProcessWindowFunction):
    def process(self, key: str, context: ProcessWindowFunction.Context, elements: list) -> list:
        return [(key, len(list(elements)), context.window().start, context.window().end)]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda c, _: c[1])
    clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(by_time)
    sessions = (
        clicks.key_by(lambda c: c[0], Types.STRING())
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
        .process(Session(), Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG(), Types.LONG()]))
    )
    sessions.print()
    env.execute("sessions")


if __name__ == "__main__":
    main()
