# @ordered
# to_changelog_stream of a GROUP BY: +I, then -U and +U; a group that loses its last row is deleted
# Change by change, as Flink sends them at parallelism 1 and without mini-batches.
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

I, UB, UA, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
plain = env.from_collection(
    [Row("a", 1), Row("b", 5), Row("a", 2), Row("a", -3), Row("b", 0), Row(None, 4)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]),
)
changing = env.from_collection(
    [
        Row.of_kind(I, "a", 1),
        Row.of_kind(I, "b", 5),
        Row.of_kind(I, "a", 2),
        Row.of_kind(D, "b", 5),
        Row.of_kind(UB, "a", 2),
        Row.of_kind(UA, "a", 9),
        Row.of_kind(D, "a", 1),
        Row.of_kind(D, "a", 9),
        Row.of_kind(I, "b", 6),
    ],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("plain", plain)
t_env.create_temporary_view("changing", t_env.from_changelog_stream(changing))


def print_changes(label, sql):
    changes = t_env.to_changelog_stream(t_env.sql_query(sql))
    for line in changes.map(lambda r: "%s %s" % (r.get_row_kind(), r), Types.STRING()).execute_and_collect():
        print(label, line)


print_changes("sum", "SELECT k, SUM(v) AS total FROM plain GROUP BY k")
# A result that stays the same is not sent again.
print_changes("max", "SELECT k, MAX(v) AS top FROM plain GROUP BY k")
print_changes("count", "SELECT k, COUNT(*) AS n, MAX(v) AS top FROM changing GROUP BY k")
print_changes("all", "SELECT COUNT(*) AS n, MIN(v) AS low FROM changing")
# An insert-only table as a changelog: only +I.
print_changes("filter", "SELECT k, v FROM plain WHERE v > 1")
