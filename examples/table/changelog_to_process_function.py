"""The changes of a GROUP BY reach a keyed function as rows with a kind; what it makes is queried again."""

from penstock.common import Row, RowKind, Types
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.table import StreamTableEnvironment

PAIR = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


class Growth(KeyedProcessFunction):
    """By how much a word's count has grown since the last change that was seen."""

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value, ctx):
        if value.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            yield Row(value.word, value.n - (self.last.value() or 0))
            self.last.update(value.n)


env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env)
words = env.from_collection([("to", 1), ("be", 1), ("to", 1)], Types.TUPLE([Types.STRING(), Types.LONG()]))
t_env.create_temporary_view("words", words)
counts = t_env.sql_query("SELECT f0 AS word, SUM(f1) AS n FROM words GROUP BY f0")
growth = (
    t_env.to_changelog_stream(counts).key_by(lambda row: row.word, Types.STRING()).process(Growth(), PAIR)
)
t_env.create_temporary_view("growth", growth)
with t_env.execute_sql("SELECT word, SUM(n) FROM growth GROUP BY word").collect() as rows:
    totals = {row[0]: row[1] for row in rows if row.get_row_kind() != RowKind.UPDATE_BEFORE}
print(sorted(totals.items()))
