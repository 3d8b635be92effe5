# two streams with timestamps of their own meet in SQL: an interval join, whose rowtime columns go on as an ordinary column
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


def view(name, rows):
    ds = env.from_collection(
        [Row(*r) for r in rows],
        type_info=Types.ROW_NAMED(["id", "what", "ms"], [Types.INT(), Types.STRING(), Types.LONG()]),
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Millis())
    )
    t_env.create_temporary_view(
        name,
        ds,
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build(),
    )


view("orders", [(1, "pen", 1000), (2, "ink", 5000), (3, "cap", 20000), (4, "nib", 60000)])
view(
    "shipments",
    [(2, "van", 4000), (1, "bike", 9000), (3, "van", 21000), (3, "bike", 35000), (9, "van", 61000)],
)
joined = t_env.sql_query("""
    SELECT o.id, o.what, s.what AS vehicle, CAST(s.ms - o.ms AS INT) AS took
    FROM orders o JOIN shipments s
    ON o.id = s.id AND s.rowtime BETWEEN o.rowtime AND o.rowtime + INTERVAL '10' SECOND""")
for line in (
    t_env.to_data_stream(joined).map(lambda r: "%d %s %s %d" % tuple(r), Types.STRING()).execute_and_collect()
):
    print("inner", line)
outer = t_env.sql_query("""
    SELECT o.id, s.what AS vehicle FROM orders o LEFT JOIN shipments s
    ON o.id = s.id AND s.rowtime BETWEEN o.rowtime AND o.rowtime + INTERVAL '10' SECOND""")
for line in (
    t_env.to_data_stream(outer).map(lambda r: "%d %s" % tuple(r), Types.STRING()).execute_and_collect()
):
    print("left", line)
