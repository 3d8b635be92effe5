# @ordered
# to_changelog_stream of Top-N, with and without the rank, of a deduplication and of a join
# Change by change, as Flink sends them at parallelism 1 and without mini-batches.
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

scores = env.from_collection(
    [
        Row("x", "ann", 10),
        Row("x", "bob", 7),
        Row("y", "cyd", 1),
        Row("x", "dan", 12),
        Row("x", "eve", 11),
        Row("y", "fay", 3),
        Row("x", "gus", 1),
        Row("y", "hal", 3),
    ],
    type_info=Types.ROW_NAMED(["team", "name", "score"], [Types.STRING(), Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view(
    "scores", scores, Schema.new_builder().column_by_expression("pt", "PROCTIME()").build()
)


def print_changes(label, sql):
    changes = t_env.to_changelog_stream(t_env.sql_query(sql))
    for line in changes.map(lambda r: "%s %s" % (r.get_row_kind(), r), Types.STRING()).execute_and_collect():
        print(label, line)


numbered = (
    "SELECT team, name, score, ROW_NUMBER() OVER (PARTITION BY team ORDER BY score DESC) AS n FROM scores"
)
print_changes("top 2", "SELECT team, name, score FROM (%s) WHERE n <= 2" % numbered)
print_changes("ranked", "SELECT team, name, score, n FROM (%s) WHERE n <= 2" % numbered)
print_changes(
    "first",
    """
    SELECT team, name FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY team ORDER BY pt) AS n FROM scores) WHERE n = 1""",
)
print_changes(
    "last",
    """
    SELECT team, name FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY team ORDER BY pt DESC) AS n FROM scores) WHERE n = 1""",
)
