# parallelism 2 on both sides: keyed state after a query, and a query after keyed state; rows are compared sorted
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ReducingStateDescriptor
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row(i, "k%d" % (i % 5), i % 4) for i in range(40)],
    type_info=Types.ROW_NAMED(["id", "k", "v"], [Types.INT(), Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("events", ds)


class Totals(KeyedProcessFunction):
    """Adds what a key has so far; of 8 rows of a key, the last total is always the same."""

    def open(self, ctx):
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, Types.INT()))
        self.count = ctx.get_reducing_state(ReducingStateDescriptor("count", lambda a, b: a + b, Types.INT()))

    def process_element(self, value, ctx):
        self.total.add(value.v)
        self.count.add(1)
        yield Row(value.k, self.count.get(), self.total.get())


totals = (
    t_env.to_data_stream(t_env.sql_query("SELECT k, v + 1 AS v FROM events WHERE id <> 7"))
    .key_by(lambda r: r.k, Types.STRING())
    .process(Totals(), Types.ROW_NAMED(["k", "n", "total"], [Types.STRING(), Types.INT(), Types.INT()]))
)
t_env.create_temporary_view("totals", totals)
with t_env.execute_sql("SELECT k, n, total FROM totals WHERE n >= 8 OR k = 'k2' AND n = 7").collect() as rows:
    for row in rows:
        print("last", *row)
# Folded by key: which change of which key comes first is left open.
table = []
with t_env.execute_sql("SELECT k, COUNT(*), MAX(total) FROM totals GROUP BY k").collect() as rows:
    for row in rows:
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            table.append(list(row))
        else:
            table.remove(list(row))
for row in table:
    print("table", *row)
