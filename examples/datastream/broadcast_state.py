"""Broadcast state: rules reach every subtask, which applies them to its part of the data."""

from collections.abc import Iterator

from penstock.common import Types
from penstock.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import MapStateDescriptor

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
ORDERS = [("book", 5), ("pen", 300), ("book", 50)]


class Check(BroadcastProcessFunction):
    def process_element(self, value: tuple, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
        limit = ctx.get_broadcast_state(LIMITS).get(value[0])
        if limit is not None and value[1] > limit:
            yield f"{value[1]} x {value[0]} is above {limit}"

    def process_broadcast_element(self, value: tuple, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(LIMITS).put(value[0], value[1])


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    item = Types.TUPLE([Types.STRING(), Types.INT()])
    orders = env.from_collection(ORDERS, item)
    limits = env.from_collection([("book", 10), ("pen", 100)], item)
    orders.connect(limits.broadcast(LIMITS)).process(Check(), Types.STRING()).print()
    env.execute("limits")


if __name__ == "__main__":
    main()
