# from_data_stream with a Schema: other types, another order, fewer columns, computed columns, an atomic value
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row("a", 1, 10), Row("b", 2, 20), Row("c", 3, None)],
    type_info=Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.INT(), Types.LONG()]),
)
tuples = env.from_collection([("x", 7), ("y", 8)], type_info=Types.TUPLE([Types.STRING(), Types.INT()]))


def print_table(label, stream, schema):
    table = t_env.from_data_stream(stream, schema)
    for line in str(table.get_resolved_schema()).splitlines()[1:-1]:
        print(label, "column", line.strip())
    with table.execute().collect() as rows:
        for row in rows:
            print(label, "row", *row)


# Only computed columns: the physical ones are derived and stand in front.
print_table(
    "computed",
    ds,
    Schema.new_builder()
    .column_by_expression("double", "v * 2")
    .column_by_expression("both", "k || '-' || CAST(w AS STRING)")
    .build(),
)
# Some physical columns, in another order, between computed ones; `w` is left out.
print_table(
    "reordered",
    ds,
    Schema.new_builder()
    .column("v", "INT")
    .column_by_expression("next", "v + 1")
    .column("k", DataTypes.STRING())
    .build(),
)
# A computed column may use a column that is declared after it, and one that was left out.
print_table(
    "hidden", ds, Schema.new_builder().column_by_expression("sum", "v + w").column("v", "INT").build()
)
# Nullability of a declared column is as declared.
print_table(
    "not null", ds, Schema.new_builder().column("k", "STRING NOT NULL").column("v", "INT NOT NULL").build()
)
print_table("tuple", tuples, Schema.new_builder().column("f1", "INT").column("f0", "STRING").build())
print_table(
    "atomic",
    tuples.map(lambda t: t[1], Types.INT()),
    Schema.new_builder().column("f0", "INT").column_by_expression("square", "f0 * f0").build(),
)
