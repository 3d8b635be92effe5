# a changelog stream as a versioned table: each order takes the rate that was valid at its time
from pyflink.common import Row, RowKind, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")


class Millis(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


def timed(rows, names):
    return env.from_collection(
        rows, type_info=Types.ROW_NAMED(names, [Types.STRING(), Types.INT(), Types.LONG()])
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Millis())
    )


I, UA = RowKind.INSERT, RowKind.UPDATE_AFTER
rates = timed(
    [
        Row.of_kind(I, "usd", 100, 1000),
        Row.of_kind(I, "yen", 1, 2000),
        Row.of_kind(UA, "usd", 110, 5000),
        Row.of_kind(I, "yen", 2, 7000),
        Row.of_kind(UA, "usd", 120, 9000),
    ],
    ["currency", "rate", "ms"],
)
orders = timed(
    [
        Row("usd", 1, 500),
        Row("usd", 2, 1000),
        Row("yen", 3, 3000),
        Row("usd", 4, 5500),
        Row("yen", 5, 8000),
        Row("usd", 6, 10000),
        Row("chf", 7, 11000),
    ],
    ["currency", "id", "ms"],
)
rowtime = (
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
)
t_env.create_temporary_view("orders", orders, rowtime.build())
t_env.create_temporary_view(
    "rates",
    t_env.from_changelog_stream(rates, rowtime.primary_key("currency").build(), ChangelogMode.upsert()),
)
joined = t_env.to_data_stream(
    t_env.sql_query("""
    SELECT o.id, o.currency, r.rate FROM orders o
    LEFT JOIN rates FOR SYSTEM_TIME AS OF o.rowtime AS r ON o.currency = r.currency""")
)
for line in joined.map(lambda r: "%d %s %s" % tuple(r), Types.STRING()).execute_and_collect():
    print(line)
