"""Count windows: the sum of every three numbers with the same parity."""

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection(list(range(1, 13)), Types.INT())
    numbers.key_by(lambda n: n % 2).count_window(3).reduce(lambda a, b: a + b).print()
    env.execute("sums of three")


if __name__ == "__main__":
    main()
