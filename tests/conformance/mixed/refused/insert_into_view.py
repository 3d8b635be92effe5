# @error build
# INSERT INTO a view of a stream
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", ds)
t_env.execute_sql("INSERT INTO t VALUES ('a', 1)")
