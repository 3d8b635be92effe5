"""Sums of ten seconds and sums so far, by the time at which things happened."""

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import Schema, StreamTableEnvironment
from penstock.table.expressions import UNBOUNDED_RANGE, col, lit
from penstock.table.window import Over, Tumble

env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env)
stream = env.from_collection(
    [Row("a", 1, 1), Row("b", 5, 3), Row("a", 2, 4), Row("a", 4, 12)],
    type_info=Types.ROW_NAMED(["k", "v", "ts"], [Types.STRING(), Types.INT(), Types.LONG()]),
)
schema = (
    Schema.new_builder()
    .column_by_expression("rt", "TO_TIMESTAMP_LTZ(ts, 0)")
    .watermark("rt", "rt - INTERVAL '1' SECOND")
    .build()
)
events = t_env.from_data_stream(stream, schema)

tens = (
    events.window(Tumble.over(lit(10).seconds).on(col("rt")).alias("w"))
    .group_by(col("w"), col("k"))
    .select(col("k"), col("w").end.alias("until"), col("v").sum.alias("total"))
)
for k, until, total in tens.execute().collect():
    print("window", k, until.second, total)

so_far = events.over_window(
    Over.partition_by(col("k")).order_by(col("rt")).preceding(UNBOUNDED_RANGE).alias("w")
).select(col("k"), col("v").sum.over(col("w")).alias("total"))
for k, total in so_far.execute().collect():
    print("so far", k, total)
