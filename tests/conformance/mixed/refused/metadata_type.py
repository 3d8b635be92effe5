# @error build
# rowtime as a number; Flink says so when the table is executed
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", ds, Schema.new_builder().column_by_metadata("rowtime", "BIGINT").build())
t_env.sql_query("SELECT * FROM t").execute()
