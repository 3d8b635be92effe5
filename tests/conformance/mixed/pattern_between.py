# MATCH_RECOGNIZE over the rowtime of a stream, its matches as a stream again, a count window on them
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 1000 * value[2]


prices = [12, 13, 11, 9, 8, 10, 14, 12, 15, 3, 2, 6]
ds = env.from_collection(
    [Row("acme", price, second) for second, price in enumerate(prices, 1)],
    type_info=Types.ROW_NAMED(["symbol", "price", "second_"], [Types.STRING(), Types.INT(), Types.LONG()]),
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
)
t_env.create_temporary_view(
    "ticks",
    ds,
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build(),
)
dips = t_env.sql_query("""
    SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY rowtime
        MEASURES A.price AS before_dip, LAST(DOWN.price) AS lowest, UP.price AS after_dip, UP.second_ AS second_
        ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP
        PATTERN (A DOWN+ UP)
        DEFINE DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < A.price) OR DOWN.price < LAST(DOWN.price, 1),
               UP AS UP.price > LAST(DOWN.price))""")
stream = t_env.to_data_stream(dips)
for line in stream.map(lambda r: "%s %d %d %d %d" % tuple(r), Types.STRING()).execute_and_collect():
    print("dip", line)
pairs = (
    stream.map(lambda r: ("all", r.before_dip - r.lowest), Types.TUPLE([Types.STRING(), Types.INT()]))
    .key_by(lambda t: t[0])
    .count_window(2)
    .reduce(lambda a, b: (a[0], a[1] + b[1]))
)
for key, depth in pairs.execute_and_collect():
    print("two dips", depth)
