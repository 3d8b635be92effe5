"""Tumbling event-time windows: orders per customer and minute, aggregated as they come."""

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows

# customer, amount, time in ms
ORDERS = [("ann", 10, 5_000), ("bob", 3, 20_000), ("ann", 6, 59_999), ("ann", 1, 60_000), ("bob", 4, 61_000)]
ORDER = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple:
        return 0, 0

    def add(self, value: tuple, accumulator: tuple) -> tuple:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple, acc_b: tuple) -> tuple:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class WithWindow(ProcessWindowFunction):
    """Gets the one aggregated value, and adds what only the window knows."""

    def process(self, key: str, context: ProcessWindowFunction.Context, elements: list) -> list:
        return [f"{key} [{context.window().start}, {context.window().end}): {next(iter(elements))}"]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    orders = env.from_collection(ORDERS, ORDER).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda order, _: order[2])
    )
    means = (
        orders.key_by(lambda order: order[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Duration.of_minutes(1)))
        .aggregate(Mean(), WithWindow(), output_type=Types.STRING())
    )
    means.print()
    env.execute("mean order per minute")


if __name__ == "__main__":
    main()
