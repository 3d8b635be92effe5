# @error build
# values of undeclared type have no operations in SQL
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(["a", "b"]).map(lambda v: v)
t_env.create_temporary_view("t", ds)
t_env.sql_query("SELECT UPPER(f0) FROM t")
