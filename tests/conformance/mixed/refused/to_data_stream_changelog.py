# @error build
# to_data_stream of a changelog stream that a filter has passed
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", t_env.from_changelog_stream(ds))
t_env.to_data_stream(t_env.sql_query("SELECT k FROM t WHERE v > 1"))
