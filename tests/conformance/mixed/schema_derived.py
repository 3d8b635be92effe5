# from_data_stream without a Schema: columns of atomic types, tuples, rows with and without names, nested and NULL values
import datetime as dt
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)


def show(v):
    if isinstance(v, Row):
        return "Row<" + ", ".join(show(x) for x in v) + ">"
    if isinstance(v, dict):
        return "{" + ", ".join(sorted(show(k) + ": " + show(x) for k, x in v.items())) + "}"
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(show(x) for x in v) + "]"
    return "NULL" if v is None else str(v)


def print_table(label, values, type_info):
    table = t_env.from_data_stream(env.from_collection(values, type_info=type_info))
    for line in str(table.get_resolved_schema()).splitlines()[1:-1]:
        print(label, "column", line.strip())
    with table.execute().collect() as rows:
        for row in rows:
            print(label, "row", ", ".join(show(v) for v in row))


print_table("int", [3, 4], Types.INT())
print_table("string", ["x", "y"], Types.STRING())
print_table("list", [[1, 2], []], Types.BASIC_ARRAY(Types.INT()))
print_table("map", [{"a": 1}], Types.MAP(Types.STRING(), Types.INT()))
print_table(
    "tuple", [("a", 1, 2.5), ("b", 2, -0.5)], Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE()])
)
print_table("row", [Row("a", 1), Row(None, None)], Types.ROW([Types.STRING(), Types.LONG()]))
print_table(
    "named",
    [Row("a", True), Row("b", None)],
    Types.ROW_NAMED(["name", "ok"], [Types.STRING(), Types.BOOLEAN()]),
)
print_table(
    "nested",
    [Row("a", Row(1, ["x", "y"])), Row("b", None), Row("c", Row(3, []))],
    Types.ROW_NAMED(
        ["k", "r"],
        [Types.STRING(), Types.ROW_NAMED(["n", "tags"], [Types.INT(), Types.BASIC_ARRAY(Types.STRING())])],
    ),
)
print_table(
    "times",
    [Row(dt.date(2024, 2, 29), dt.time(10, 11, 12), Decimal("12.5"))],
    Types.ROW_NAMED(["d", "t", "n"], [Types.SQL_DATE(), Types.SQL_TIME(), Types.BIG_DEC()]),
)
