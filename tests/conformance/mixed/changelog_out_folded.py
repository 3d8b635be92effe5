# to_changelog_stream, folded: each change must fit the table as it was before it, and what is left at the end is compared
# How many changes there are on the way depends on parallelism and on how many rows an engine takes at once.
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
t_env = StreamTableEnvironment.create(env)

I, UB, UA, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
ds = env.from_collection(
    [Row(i, "team%d" % (i % 3), "name%d" % (i % 7), i * 37 % 50) for i in range(60)],
    type_info=Types.ROW_NAMED(
        ["id", "team", "name", "score"], [Types.INT(), Types.STRING(), Types.STRING(), Types.INT()]
    ),
)
t_env.create_temporary_view("scores", ds)


def fold(label, stream, key, has_before=True):
    """`key`: how many of the first columns identify a row, or None for a table without a key."""
    table, wrong = {}, []
    for kind, *row in stream.map(
        lambda r: [str(r.get_row_kind()), *map(str, r)], Types.BASIC_ARRAY(Types.STRING())
    ).execute_and_collect():
        rows = table.setdefault(tuple(row[:key]), [])
        if kind in ("-U", "-D"):
            if row not in rows and has_before:
                wrong.append((kind, row))
            rows[:] = [r for r in rows if r != row] if has_before else []
            continue
        if key is not None and rows and (has_before or kind == "+I"):
            wrong.append((kind, row))
        rows[:] = [row] if key is not None else [*rows, row]
    for row in sorted(r for rows in table.values() for r in rows):
        print(label, *row)
    print(label, "changes that did not fit:", wrong)


totals = t_env.sql_query(
    "SELECT team, SUM(score) AS total, COUNT(DISTINCT name) AS names FROM scores GROUP BY team"
)
fold("group", t_env.to_changelog_stream(totals), 1)
keyed = (
    Schema.new_builder()
    .column("team", "STRING NOT NULL")
    .column("total", "INT")
    .column("names", "BIGINT")
    .primary_key("team")
    .build()
)
fold("upsert", t_env.to_changelog_stream(totals, keyed, ChangelogMode.upsert()), 1, has_before=False)
numbered = (
    "SELECT team, name, score, ROW_NUMBER() OVER (PARTITION BY team ORDER BY score DESC, id) AS n FROM scores"
)
fold(
    "top",
    t_env.to_changelog_stream(t_env.sql_query("SELECT team, name, score FROM (%s) WHERE n <= 2" % numbered)),
    None,
)
fold(
    "ranked",
    t_env.to_changelog_stream(
        t_env.sql_query("SELECT team, n, name, score FROM (%s) WHERE n <= 2" % numbered)
    ),
    2,
)
fold(
    "counts of counts",
    t_env.to_changelog_stream(
        t_env.sql_query("""
    SELECT c, COUNT(*) AS n FROM (SELECT name, COUNT(*) AS c FROM scores GROUP BY name) GROUP BY c""")
    ),
    1,
)
fold(
    "join",
    t_env.to_changelog_stream(
        t_env.sql_query("""
    SELECT a.team, a.total, b.top FROM (SELECT team, SUM(score) AS total FROM scores GROUP BY team) a
    LEFT JOIN (SELECT team, MAX(score) AS top FROM scores WHERE team <> 'team1' GROUP BY team) b ON a.team = b.team""")
    ),
    1,
)
