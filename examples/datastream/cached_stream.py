"""cache(): an expensive step is computed by the first job and reused by the next one."""

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment


def expensive(value: int) -> int:
    return value * value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    squares = env.from_collection([1, 2, 3], Types.INT()).map(expensive, Types.INT()).cache()
    print("plus one", list(squares.map(lambda v: v + 1).execute_and_collect()))
    print("negative", list(squares.map(lambda v: -v).execute_and_collect()))  # `expensive` does not run again
    squares.invalidate()


if __name__ == "__main__":
    main()
