# @error run
# a rowtime that is NULL
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", None)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
table = t_env.from_data_stream(ds, Schema.new_builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(v, 3)")
                               .watermark("ts", "ts").build())
stream = t_env.to_data_stream(table)
for line in stream.map(lambda r: str(r), Types.STRING()).execute_and_collect():
    print(line)
