# @error build
# to_changelog_stream with a narrower type of number
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", ds)
t_env.to_changelog_stream(
    t_env.sql_query("SELECT k, v FROM t"), Schema.new_builder().column("k", "STRING").column("v", "SMALLINT").build())
