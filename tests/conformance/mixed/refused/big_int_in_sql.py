# @error build
# Types.BIG_INT() is no SQL type: it has no operations in SQL
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([1, 2], type_info=Types.LONG()).map(lambda v: v, Types.BIG_INT())
t_env.create_temporary_view("t", ds)
t_env.sql_query("SELECT f0 + 1 FROM t")
