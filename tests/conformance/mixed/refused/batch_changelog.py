# @error build
# BATCH mode takes no changelog stream; Flink says so when the table is used
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.table import EnvironmentSettings, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

env.set_runtime_mode(RuntimeExecutionMode.BATCH)
t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())
ds = env.from_collection(
    [Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", t_env.from_changelog_stream(ds))
t_env.sql_query("SELECT k FROM t")
