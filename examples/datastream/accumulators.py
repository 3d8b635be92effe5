"""Accumulators: counts that every subtask adds to, read from the job's result."""

from penstock.common import Types
from penstock.datastream import FilterFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.functions.accumulators import Histogram, IntCounter


class NotEmpty(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.dropped = IntCounter()
        self.lengths = Histogram()
        runtime_context.add_accumulator("dropped", self.dropped)
        runtime_context.add_accumulator("lengths", self.lengths)

    def filter(self, value: str) -> bool:
        self.lengths.add(len(value))
        if not value:
            self.dropped.add(1)
        return bool(value)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_collection(["a", "", "bcd", "", "e"], Types.STRING()).rebalance().filter(NotEmpty()).print()
    result = env.execute("not empty")
    print("dropped", result.get_accumulator_result("dropped"))
    print("lengths", result.get_accumulator_result("lengths"))


if __name__ == "__main__":
    main()
