# from_data_stream and create_temporary_view with field expressions; to_append_stream and to_retract_stream
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment
from pyflink.table.expressions import col

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")


class Millis(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 1000 * value[1]


tuples = env.from_collection(
    [("a", 1), ("b", 2), ("a", 13)], type_info=Types.TUPLE([Types.STRING(), Types.INT()])
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Millis())
)


def columns(label, table):
    for line in str(table.get_resolved_schema()).splitlines()[1:-1]:
        print(label, "column", line.strip())


by_position = t_env.from_data_stream(tuples, col("name"), col("n"))
columns("position", by_position)
by_name = t_env.from_data_stream(tuples, col("f1").alias("n"), col("f0"))
columns("name", by_name)
timed = t_env.from_data_stream(tuples, col("k"), col("n"), col("rt").rowtime)
columns("rowtime", timed)
t_env.create_temporary_view("timed", timed)
windows = t_env.sql_query("""
    SELECT k, CAST(window_start AS STRING) AS s, SUM(n) AS total
    FROM TUMBLE(TABLE timed, DESCRIPTOR(rt), INTERVAL '10' SECOND) GROUP BY k, window_start, window_end""")
out = t_env.to_append_stream(windows, Types.ROW([Types.STRING(), Types.STRING(), Types.INT()]))
for line in out.map(lambda r: "%s %s %s" % tuple(r), Types.STRING()).execute_and_collect():
    print("append", line)
t_env.create_temporary_view("named", by_name)
totals = t_env.sql_query("SELECT f0, SUM(n) AS total FROM named GROUP BY f0")
# Folded: the sum of what was added and taken back.
balance = {}
for added, row in t_env.to_retract_stream(
    totals, Types.ROW([Types.STRING(), Types.INT()])
).execute_and_collect():
    balance[tuple(row)] = balance.get(tuple(row), 0) + (1 if added else -1)
for row, count in balance.items():
    if count:
        print("retract", count, *row)
