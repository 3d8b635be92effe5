# nothing crosses the border: empty results, and what an aggregate of no rows says in a stream
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row("a", 1), Row("b", 2)], type_info=Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
)
t_env.create_temporary_view("empty_rows", ds.filter(lambda r: r.n > 5))
t_env.create_temporary_view("some_rows", ds)


def print_stream(label, stream):
    count = 0
    for line in stream.map(lambda r: "%s %s" % (r.get_row_kind(), r), Types.STRING()).execute_and_collect():
        print(label, line)
        count += 1
    print(label, "count", count)


print_stream("rows", t_env.to_data_stream(t_env.sql_query("SELECT * FROM empty_rows")))
print_stream("filtered", t_env.to_data_stream(t_env.sql_query("SELECT * FROM some_rows WHERE n > 5")))
print_stream("never", t_env.to_data_stream(t_env.sql_query("SELECT * FROM some_rows WHERE FALSE")))
print_stream(
    "total", t_env.to_changelog_stream(t_env.sql_query("SELECT COUNT(*) AS c, SUM(n) AS s FROM empty_rows"))
)
print_stream(
    "left",
    t_env.to_changelog_stream(
        t_env.sql_query("SELECT s.k, e.n FROM some_rows s LEFT JOIN empty_rows e ON s.k = e.k")
    ),
)
print_stream(
    "values",
    t_env.to_data_stream(
        t_env.sql_query("SELECT * FROM (VALUES (1, 'x'), (2, CAST(NULL AS STRING))) AS t (n, s)")
    ),
)
