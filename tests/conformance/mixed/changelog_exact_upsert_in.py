# @ordered
# from_changelog_stream in upsert mode: a row replaces the one of its key, a delete needs only the key
# Change by change, as Flink sends them at parallelism 1 and without mini-batches.
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

I, UA, D = RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE
ds = env.from_collection(
    [
        Row.of_kind(I, "ann", 10, "x"),
        Row.of_kind(I, "bob", 5, "y"),
        Row.of_kind(UA, "ann", 30, "y"),
        Row.of_kind(UA, "cyd", 7, "x"),
        Row.of_kind(D, "bob", None, None),
        Row.of_kind(I, "cyd", 8, "x"),
        Row.of_kind(UA, "cyd", 8, "x"),
        Row.of_kind(D, "nobody", None, None),
        Row.of_kind(I, "bob", 6, "y"),
    ],
    type_info=Types.ROW_NAMED(["name", "score", "team"], [Types.STRING(), Types.INT(), Types.STRING()]),
)
schema = Schema.new_builder().primary_key("name").build()
players = t_env.from_changelog_stream(ds, schema, ChangelogMode.upsert())
for line in str(players.get_resolved_schema()).splitlines()[1:-1]:
    print("column", line.strip())
t_env.create_temporary_view("players", players)


def print_changes(label, sql):
    with t_env.execute_sql(sql).collect() as changes:
        for row in changes:
            print(label, row.get_row_kind(), *row)


print_changes("all", "SELECT * FROM players")
print_changes("filter", "SELECT name, score FROM players WHERE team = 'y'")
print_changes("teams", "SELECT team, SUM(score), COUNT(*) FROM players GROUP BY team")
