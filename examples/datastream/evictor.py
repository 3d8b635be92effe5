"""Triggers and evictors: after every second reading, the mean of the last three."""

from penstock.common import Types
from penstock.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.window import CountEvictor, CountTrigger, GlobalWindows


class Mean(ProcessWindowFunction):
    def process(self, key: str, context: ProcessWindowFunction.Context, elements: list) -> list:
        values = [value for _, value in elements]
        return [(key, values, sum(values) / len(values))]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    readings = env.from_collection([("s", v) for v in (1, 2, 3, 4, 5, 6)])
    (
        readings.key_by(lambda r: r[0], Types.STRING())
        .window(GlobalWindows.create())
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(3))
        .process(Mean())
        .print()
    )
    env.execute("moving mean")


if __name__ == "__main__":
    main()
