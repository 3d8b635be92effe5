# watermarks cross the border twice: of a file table into a process function, and of its stream into a window query
# One element in a bundle: with larger ones PyFlink would hold back watermarks, and no row would be late.
import os
import tempfile

from pyflink.common import Configuration, Row, Types
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

config = Configuration()
config.set_integer("python.fn-execution.bundle.size", 1)
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "events.csv"), "w") as f:
    f.write("a,1,1000\na,2,12000\na,3,9000\na,4,25000\na,5,5000\na,6,19000\na,7,31000\n")
t_env.execute_sql(
    """
    CREATE TABLE events (k STRING, v INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3),
                         WATERMARK FOR ts AS ts - INTERVAL '4' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""
    % folder
)


class Seen(ProcessFunction):
    """Keeps the record's timestamp and adds the watermark it saw."""

    def process_element(self, value, ctx):
        watermark = ctx.timer_service().current_watermark()
        yield Row(value.k, value.v, ctx.timestamp(), -1 if watermark < 0 else watermark)


seen = t_env.to_data_stream(t_env.sql_query("SELECT * FROM events")).process(
    Seen(),
    Types.ROW_NAMED(["k", "v", "stamp", "wm"], [Types.STRING(), Types.INT(), Types.LONG(), Types.LONG()]),
)
t_env.create_temporary_view(
    "seen",
    seen,
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build(),
)
with t_env.execute_sql("SELECT v, stamp, wm, CAST(rowtime AS STRING) FROM seen").collect() as rows:
    for row in rows:
        print("seen", *row)
with t_env.execute_sql("""
        SELECT window_start, SUM(v), COUNT(*), LISTAGG(CAST(v AS STRING))
        FROM TUMBLE(TABLE seen, DESCRIPTOR(rowtime), INTERVAL '10' SECOND)
        GROUP BY window_start, window_end""").collect() as rows:
    for row in rows:
        print("window", *row)
