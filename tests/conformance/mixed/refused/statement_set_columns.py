# @error build
# add_insert into a table with other columns; Flink says so when it is attached
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", ds)
t_env.execute_sql("CREATE TABLE s (k STRING) WITH ('connector' = 'blackhole')")
statements = t_env.create_statement_set()
statements.add_insert("s", t_env.sql_query("SELECT k, v FROM t"))
statements.attach_as_datastream()
