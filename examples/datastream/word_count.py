"""Counts words: the first program of every stream processor."""

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment

LINES = ["to be or not to be", "that is the question"]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    counts = (
        env.from_collection(LINES, Types.STRING())
        # "to be or not to be" -> "to", "be", "or", ...
        .flat_map(str.split, Types.STRING())
        # "to" -> ("to", 1)
        .map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
        # all ("to", ...) meet in one subtask
        .key_by(lambda pair: pair[0], Types.STRING())
        # ("to", 1), ("to", 2): a running count for every word that comes
        .sum(1)
    )
    counts.print()
    env.execute("word count")


if __name__ == "__main__":
    main()
