# @error run
# from_changelog_stream in insert-only mode; a row of another kind fails the job
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
table = t_env.from_changelog_stream(ds, Schema.new_builder().build(), ChangelogMode.insert_only())
with table.execute().collect() as rows:
    for row in rows:
        print(row)
