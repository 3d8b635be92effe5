# a declared row type puts named rows, tuples and rows without names into one order before they become columns
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

pair = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
numbers = env.from_collection([1, 2, 3], type_info=Types.INT())


def print_table(label, stream, *schema):
    t_env.create_temporary_view(label, stream, *schema)
    with t_env.execute_sql("SELECT * FROM %s" % label).collect() as rows:
        for row in rows:
            print(label, row.as_dict() if hasattr(row, "_fields") and row._fields else list(row))


print_table("named", numbers.map(lambda n: Row(v=n, k="n%d" % n), pair))
print_table("plain", numbers.map(lambda n: Row("p%d" % n, n), pair))
print_table("tuples", numbers.map(lambda n: ("t%d" % n, n), Types.TUPLE([Types.STRING(), Types.INT()])))
# Names of a row type are case sensitive, and any text can be one.
odd = Types.ROW_NAMED(["K", "k", "my value"], [Types.INT(), Types.STRING(), Types.INT()])
stream = numbers.map(lambda n: Row(n, "o%d" % n, n * n), odd)
t_env.create_temporary_view("odd", stream)
back = t_env.to_data_stream(t_env.sql_query("SELECT k, `my value`, K FROM odd WHERE K > 1"))
for line in back.map(
    lambda r: "%s %s %s %s" % (r.k, r["my value"], r.K, r), Types.STRING()
).execute_and_collect():
    print("odd", line)
# Elements of a type of several fields that is not declared with names: f0, f1, ...
unnamed = numbers.map(lambda n: Row("u%d" % n, n), Types.ROW([Types.STRING(), Types.INT()]))
t_env.create_temporary_view(
    "unnamed", unnamed, Schema.new_builder().column_by_expression("twice", "f1 * 2").build()
)
back = t_env.to_data_stream(t_env.from_path("unnamed"))
for line in back.map(lambda r: "%s %s %s" % (r.f0, r.twice, r), Types.STRING()).execute_and_collect():
    print("unnamed", line)
