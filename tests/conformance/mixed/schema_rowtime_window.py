# a stream's timestamps and watermarks as rowtime of a table: metadata column, SOURCE_WATERMARK(), TUMBLE and HOP windows
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")


class Millis(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


ds = env.from_collection(
    [
        Row("a", 1, 1000),
        Row("a", 6, 2000),
        Row("b", 2, 4000),
        Row("a", 3, 9999),
        Row("a", 4, 10000),
        Row("b", 5, 21000),
    ],
    type_info=Types.ROW_NAMED(["k", "v", "ms"], [Types.STRING(), Types.INT(), Types.LONG()]),
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Millis())
)
# The rows are in order: none is late, however often the watermark is sent.
schema = (
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build()
)
t_env.create_temporary_view("events", ds, schema)
print(t_env.from_path("events").get_schema().get_field_names())


def print_query(label, sql):
    with t_env.execute_sql(sql).collect() as rows:
        for row in rows:
            print(label, row.get_row_kind(), *row)


print_query("rows", "SELECT k, v, CAST(rowtime AS STRING) FROM events")
print_query(
    "tumble",
    """
    SELECT k, window_start, window_end, SUM(v), COUNT(*)
    FROM TUMBLE(TABLE events, DESCRIPTOR(rowtime), INTERVAL '10' SECOND) GROUP BY k, window_start, window_end""",
)
print_query(
    "hop",
    """
    SELECT window_start, COUNT(*)
    FROM HOP(TABLE events, DESCRIPTOR(rowtime), INTERVAL '10' SECOND, INTERVAL '20' SECOND)
    GROUP BY window_start, window_end""",
)
print_query(
    "over",
    """
    SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY rowtime) FROM events""",
)
