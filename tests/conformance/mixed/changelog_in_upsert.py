# from_changelog_stream in upsert mode, folded: the table of the last row of each key, filtered, aggregated and joined
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

I, UB, UA, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
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
        Row.of_kind(I, "dan", 1, None),
        Row.of_kind(UA, "dan", 2, None),
        Row.of_kind(D, "dan", None, None),
    ],
    type_info=Types.ROW_NAMED(["name", "score", "team"], [Types.STRING(), Types.INT(), Types.STRING()]),
)
t_env.create_temporary_view(
    "players",
    t_env.from_changelog_stream(
        ds,
        Schema.new_builder().primary_key("name").column_by_expression("tens", "score * 10").build(),
        ChangelogMode.upsert(),
    ),
)
teams = env.from_collection(
    [("x", "Xenon"), ("y", "Yttrium")], type_info=Types.TUPLE([Types.STRING(), Types.STRING()])
)
t_env.create_temporary_view("teams", teams)


def fold(label, sql):
    """Prints the table that the changes leave."""
    table = []
    with t_env.execute_sql(sql).collect() as rows:
        for row in rows:
            if row.get_row_kind() in (I, UA):
                table.append(list(row))
            else:
                table.remove(list(row))
    for row in sorted(table, key=str):
        print(label, *row)


fold("all", "SELECT name, score, team, tens FROM players")
fold("filter", "SELECT name, score FROM players WHERE team = 'y' AND score > 5")
fold("group", "SELECT team, SUM(score), COUNT(*) FROM players GROUP BY team")
fold("join", "SELECT p.name, t.f1 FROM players p JOIN teams t ON p.team = t.f0")
