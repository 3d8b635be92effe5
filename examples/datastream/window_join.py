"""A window join and a co-group: orders and payments of the same customer in the same minute."""

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import CoGroupFunction, DataStream, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows

ORDERS = [("ann", "book", 1_000), ("bob", "pen", 2_000)]
PAYMENTS = [("ann", 12, 30_000), ("ann", 3, 50_000), ("cy", 5, 55_000)]
MINUTE = TumblingEventTimeWindows.of(Duration.of_minutes(1))


class Unpaid(CoGroupFunction):
    """Sees both sides of a window, so it can tell when one is empty."""

    def co_group(self, first: list, second: list) -> list:
        return [order[1] for order in first if not second]


def timed(env: StreamExecutionEnvironment, elements: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e[2])
    return env.from_collection(elements).assign_timestamps_and_watermarks(strategy)


def customer(element: tuple) -> str:
    return element[0]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    orders, payments = timed(env, ORDERS), timed(env, PAYMENTS)
    pairs = orders.join(payments).where(customer).equal_to(customer).window(MINUTE)
    pairs.apply(lambda order, payment: (order[0], order[1], payment[1])).print("paid")
    groups = orders.co_group(payments).where(customer).equal_to(customer).window(MINUTE)
    groups.apply(Unpaid()).print("unpaid")
    env.execute("orders and payments")


if __name__ == "__main__":
    main()
