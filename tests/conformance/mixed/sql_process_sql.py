# a file table, a keyed process function with state and event-time timers on its rows, and a query on what that emits
# One element in a bundle: with larger ones PyFlink would hold back watermarks, and timers would fire later.
import os
import tempfile

from pyflink.common import Configuration, Row, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import StreamTableEnvironment

config = Configuration()
config.set_integer("python.fn-execution.bundle.size", 1)
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "clicks.csv"), "w") as f:
    f.write("ann,1,1000\nbob,2,2000\nann,3,3000\nbob,4,15000\nann,5,15500\nann,6,40000\n")
t_env.execute_sql(
    """
    CREATE TABLE clicks (who STRING, n INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""
    % folder
)


class Sessions(KeyedProcessFunction):
    """Sums until a key has been silent for 10 seconds; the timer's time is the time of the result."""

    def open(self, ctx):
        self.total = ctx.get_state(ValueStateDescriptor("total", Types.INT()))
        self.timer = ctx.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value.n)
        if self.timer.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.timer.value())
        self.timer.update(ctx.timestamp() + 10000)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10000)

    def on_timer(self, timestamp, ctx):
        yield Row(ctx.get_current_key(), self.total.value(), timestamp)
        self.total.clear()
        self.timer.clear()


sessions = (
    t_env.to_data_stream(t_env.sql_query("SELECT who, n, ts FROM clicks"))
    .key_by(lambda r: r.who, Types.STRING())
    .process(
        Sessions(), Types.ROW_NAMED(["who", "total", "ended"], [Types.STRING(), Types.INT(), Types.LONG()])
    )
)
t_env.create_temporary_view("sessions", sessions)

with t_env.execute_sql(
    "SELECT who, total, CAST(TO_TIMESTAMP_LTZ(ended, 3) AS STRING) FROM sessions"
).collect() as rows:
    for row in rows:
        print("session", *row)
# A key's changes come in order, those of two keys in any: the last row of each key is what the table holds.
table = {}
with t_env.execute_sql(
    "SELECT who, COUNT(*), SUM(total), MAX(total) FROM sessions GROUP BY who"
).collect() as rows:
    for row in rows:
        table[row[0]] = list(row)
for row in table.values():
    print("table", *row)
