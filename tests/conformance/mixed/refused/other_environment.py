# @error build
# a stream of another environment
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

other = StreamExecutionEnvironment.get_execution_environment()
ds = other.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.from_data_stream(ds)
