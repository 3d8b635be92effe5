"""Batch mode: the same program over bounded input gives only final results, one per key."""

from penstock.common import Types
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

SALES = [("fruit", 3), ("bread", 2), ("fruit", 4), ("bread", 5)]


def main() -> None:
    for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1).set_runtime_mode(mode)
        sales = env.from_collection(SALES, Types.TUPLE([Types.STRING(), Types.INT()]))
        totals = sales.key_by(lambda sale: sale[0], Types.STRING()).sum(1)
        with totals.execute_and_collect(f"sales, {mode.name}") as results:
            print(mode.name, sorted(results))


if __name__ == "__main__":
    main()
