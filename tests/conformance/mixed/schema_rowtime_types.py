# the metadata rowtime under another name and type; watermarks declared on a column of the stream in its place
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
        return value[1]


ds = env.from_collection(
    [Row("a", 1000), Row("b", 4000), Row("a", 61000)],
    type_info=Types.ROW_NAMED(["k", "ms"], [Types.STRING(), Types.LONG()]),
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Millis())
)


def print_table(label, schema, window=None):
    """The columns, and then the rows or the count of each minute."""
    table = t_env.from_data_stream(ds, schema)
    for line in str(table.get_resolved_schema()).splitlines()[1:-1]:
        print(label, "column", line.strip())
    t_env.create_temporary_view(label, table)
    if window is None:
        table = t_env.sql_query("SELECT k, CAST(rowtime AS STRING) FROM %s" % label)
    else:
        table = t_env.sql_query(
            """
            SELECT window_start, window_end, COUNT(*)
            FROM TUMBLE(TABLE %s, DESCRIPTOR(%s), INTERVAL '1' MINUTE) GROUP BY window_start, window_end"""
            % (label, window)
        )
    with table.execute().collect() as rows:
        for row in rows:
            print(label, "row", *row)


# Without a watermark the metadata is an ordinary column.
print_table("plain", Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").build())
print_table(
    "renamed",
    Schema.new_builder()
    .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
    .watermark("ts", "SOURCE_WATERMARK()")
    .build(),
    "ts",
)
print_table(
    "local_time",
    Schema.new_builder()
    .column_by_metadata("ts", "TIMESTAMP(3)", "rowtime")
    .watermark("ts", "SOURCE_WATERMARK()")
    .build(),
    "ts",
)
# A watermark of the table's own; the stream's is not used.
print_table(
    "own",
    Schema.new_builder()
    .column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
    .watermark("ts", "ts - INTERVAL '5' SECOND")
    .build(),
    "ts",
)
