# @error build
# Types.CHAR() is no SQL type: it has no operations in SQL
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(["a", "b"], type_info=Types.STRING()).map(lambda v: v, Types.CHAR())
t_env.create_temporary_view("t", ds)
t_env.sql_query("SELECT f0 || 'x' FROM t")
