# @ordered
# to_changelog_stream with a schema and a ChangelogMode: upsert leaves out -U, insert_only takes an insert-only table
# Change by change, as Flink sends them at parallelism 1 and without mini-batches.
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

I, UB, UA, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
ds = env.from_collection(
    [
        Row.of_kind(I, "a", 1),
        Row.of_kind(I, "b", 5),
        Row.of_kind(I, "a", 2),
        Row.of_kind(D, "b", 5),
        Row.of_kind(UB, "a", 2),
        Row.of_kind(UA, "a", 9),
        Row.of_kind(I, "b", 6),
    ],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("changes", t_env.from_changelog_stream(ds))
totals = t_env.sql_query("SELECT k, SUM(v) AS total, COUNT(*) AS n FROM changes GROUP BY k")


def print_changes(label, stream):
    for line in stream.map(lambda r: "%s %s" % (r.get_row_kind(), r), Types.STRING()).execute_and_collect():
        print(label, line)


key = (
    Schema.new_builder()
    .column("k", "STRING NOT NULL")
    .column("total", "INT")
    .column("n", "BIGINT")
    .primary_key("k")
    .build()
)
print_changes("upsert", t_env.to_changelog_stream(totals, key, ChangelogMode.upsert()))
print_changes("all", t_env.to_changelog_stream(totals, key, ChangelogMode.all()))
print_changes("default", t_env.to_changelog_stream(totals, key))
# Columns are converted to the declared types; they are matched by position.
wider = Schema.new_builder().column("name", "STRING").column("amount", "DOUBLE").column("n", "BIGINT").build()
print_changes("types", t_env.to_changelog_stream(totals, wider))
inserts = t_env.sql_query("SELECT x, x * 2 AS y FROM (VALUES (1), (2)) AS t (x)")
print_changes(
    "inserts",
    t_env.to_changelog_stream(
        inserts,
        Schema.new_builder().column("x", "INT").column("y", "INT").build(),
        ChangelogMode.insert_only(),
    ),
)
