# from_data_stream and at once to_data_stream: a row stream comes back as it was, with its timestamps; others become rows
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)


class Millis(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return 1000 * value[1]


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        stamp = ctx.timestamp()
        yield "%s at %s" % (value, "none" if stamp is None or stamp < 0 else stamp)


def timed(values, type_info):
    return env.from_collection(values, type_info=type_info).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Millis())
    )


def print_stream(label, table):
    stream = t_env.to_data_stream(table)
    print(label, stream.get_type())
    for line in stream.process(Stamp(), Types.STRING()).execute_and_collect():
        print(label, line)


rows = timed([Row("a", 1), Row("b", 2)], Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()]))
tuples = timed([("a", 1), ("b", 2)], Types.TUPLE([Types.STRING(), Types.INT()]))
print_stream("rows", t_env.from_data_stream(rows))
print_stream("tuples", t_env.from_data_stream(tuples))
# As soon as a query stands between, timestamps that were not declared are gone.
t_env.create_temporary_view("v", rows)
print_stream("query", t_env.sql_query("SELECT * FROM v"))
print_stream("path", t_env.from_path("v"))
declared = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").build()
print_stream("metadata", t_env.from_data_stream(rows, declared))
rowtime = (
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build()
)
print_stream("rowtime", t_env.from_data_stream(rows, rowtime))
