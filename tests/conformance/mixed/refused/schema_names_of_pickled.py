# @error build
# a stream of undeclared type has one column f0, whatever its elements are
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([("a", 1)])
t_env.from_data_stream(ds, Schema.new_builder().column("k", "STRING").column("v", "INT").build())
