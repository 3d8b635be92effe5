# @error build
# a StreamTableEnvironment of nothing
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

StreamTableEnvironment.create()
