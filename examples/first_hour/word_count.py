"""Counts words. A program describes steps; nothing happens before `execute`."""

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment

LINES = ["to be or not to be", "that is the question"]

env = StreamExecutionEnvironment.get_execution_environment()
lines = env.from_collection(LINES, Types.STRING())

# One element in, any number out: "to be or" -> "to", "be", "or".
words = lines.flat_map(str.split, Types.STRING())

# All pairs of a word meet in the same subtask, which keeps a running sum for it.
pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).print()

env.execute("word count")
