# @error build
# an upsert changelog needs a primary key; Flink says so when the table is used
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
table = t_env.from_changelog_stream(ds, Schema.new_builder().build(), ChangelogMode.upsert())
t_env.create_temporary_view("t", table)
t_env.sql_query("SELECT * FROM t")
