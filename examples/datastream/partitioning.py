"""Partitionings: who gets which element. A custom partitioner sends even numbers to one subtask."""

from penstock.common import Types
from penstock.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment


class WhereAmI(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> tuple:
        return self.subtask, value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(6)), Types.INT())
    placed = Types.TUPLE([Types.INT(), Types.INT()])
    for name, stream in [
        ("round-robin", numbers.rebalance()),
        ("custom", numbers.partition_custom(lambda key, n: key % n, lambda value: value % 2)),
        ("everywhere", numbers.broadcast()),
    ]:
        result = stream.map(WhereAmI(), placed).execute_and_collect(name)
        print(name, sorted(result))


if __name__ == "__main__":
    main()
