# @error run
# a declared type that the stream's values do not have
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
table = t_env.from_data_stream(ds, Schema.new_builder().column("k", "INT").column("v", "INT").build())
with table.execute().collect() as rows:
    for row in rows:
        print(row)
