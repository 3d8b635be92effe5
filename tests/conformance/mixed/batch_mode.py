# BATCH mode: aggregates are final, so that to_data_stream takes them; a keyed process function after a query
from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import EnvironmentSettings, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())

ds = env.from_collection(
    [Row("a", 1), Row("b", 5), Row("a", 2), Row("c", 9), Row("b", 7), Row("a", 4)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("events", ds)
totals = t_env.sql_query("SELECT k, SUM(v) AS total FROM events GROUP BY k")
for line in (
    t_env.to_data_stream(totals).map(lambda r: "%s %d" % (r.k, r.total), Types.STRING()).execute_and_collect()
):
    print("total", line)
changes = t_env.to_changelog_stream(totals)
for line in changes.map(lambda r: "%s %s" % (r.get_row_kind(), r), Types.STRING()).execute_and_collect():
    print("change", line)


class Count(KeyedProcessFunction):
    def open(self, ctx):
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield Row(value.k, self.count.value(), value.v)


counted = (
    t_env.to_data_stream(t_env.sql_query("SELECT k, v FROM events ORDER BY v"))
    .key_by(lambda r: r.k, Types.STRING())
    .process(Count(), Types.ROW_NAMED(["k", "n", "v"], [Types.STRING(), Types.INT(), Types.INT()]))
)
t_env.create_temporary_view("counted", counted)
with t_env.execute_sql("SELECT k, MAX(n), SUM(v) FROM counted GROUP BY k").collect() as rows:
    for row in rows:
        print("count", row.get_row_kind(), *row)
