# @error build
# a watermark on Types.INSTANT(), which is TIMESTAMP_LTZ(9)
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([1], type_info=Types.INT()).map(lambda n: None, Types.INSTANT())
t_env.from_data_stream(ds, Schema.new_builder().watermark("f0", "f0 - INTERVAL '1' SECOND").build())
