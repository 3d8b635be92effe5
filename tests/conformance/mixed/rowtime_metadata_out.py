# to_changelog_stream with a rowtime metadata column: the last column leaves the row and becomes the record's timestamp
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")

ds = env.from_collection(
    [Row("a", 1, 1000), Row("b", 2, 65000), Row("a", 3, 70000)],
    type_info=Types.ROW_NAMED(["k", "v", "ms"], [Types.STRING(), Types.INT(), Types.LONG()]),
)
t_env.create_temporary_view(
    "events",
    ds,
    Schema.new_builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)").watermark("ts", "ts").build(),
)


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        stamp = ctx.timestamp()
        yield "%s %s at %s" % (value.get_row_kind(), value, "none" if stamp is None or stamp < 0 else stamp)


def print_stream(label, stream):
    for line in stream.process(Stamp(), Types.STRING()).execute_and_collect():
        print(label, line)


rows = t_env.sql_query("SELECT k, v, ts FROM events")
metadata = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").build()
print_stream("metadata", t_env.to_changelog_stream(rows, metadata))
declared = (
    Schema.new_builder()
    .column("k", "STRING")
    .column("v", "BIGINT")
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .build()
)
print_stream("declared", t_env.to_changelog_stream(rows, declared))
# Without metadata the rowtime column stays, and is the timestamp too.
print_stream("column", t_env.to_changelog_stream(t_env.sql_query("SELECT ts, k FROM events WHERE v > 1")))
# A computed time is no rowtime any more; the column is there, the timestamp is not.
print_stream(
    "computed",
    t_env.to_data_stream(t_env.sql_query("SELECT k, ts + INTERVAL '1' SECOND AS later FROM events")),
)
print_stream("dropped", t_env.to_data_stream(t_env.sql_query("SELECT k, v FROM events")))
