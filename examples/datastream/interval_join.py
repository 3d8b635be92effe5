"""An interval join: clicks that came within five seconds after an advertisement was shown to the same user."""

from collections.abc import Iterator

from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import KeyedStream, ProcessJoinFunction, StreamExecutionEnvironment

SHOWN = [("ann", "shoes", 1_000), ("bob", "boots", 2_000), ("ann", "socks", 20_000)]
CLICKED = [("ann", 4_000), ("bob", 9_000), ("ann", 25_000)]


class Pair(ProcessJoinFunction):
    def process_element(self, left: tuple, right: tuple, ctx: ProcessJoinFunction.Context) -> Iterator[tuple]:
        yield left[0], left[1], ctx.get_right_timestamp() - ctx.get_left_timestamp()


def by_user(env: StreamExecutionEnvironment, elements: list) -> KeyedStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e[-1])
    stream = env.from_collection(elements).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(lambda e: e[0], Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    (
        by_user(env, SHOWN)
        .interval_join(by_user(env, CLICKED))
        .between(Time.seconds(0), Time.seconds(5))
        .process(Pair(), Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()]))
        .print()
    )
    env.execute("clicks after advertisements")


if __name__ == "__main__":
    main()
