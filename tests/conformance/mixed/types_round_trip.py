# values of every type that both worlds know: into a query, through it, and out into a function
import datetime as dt
from decimal import Decimal

from pyflink.common import Instant, Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")


def show(value):
    """The Python type and the value; rows show their names."""
    if isinstance(value, list):
        return "[%s]" % ", ".join(show(v) for v in value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join(sorted("%s: %s" % (show(k), show(v)) for k, v in value.items()))
    return "%s %s" % (type(value).__name__, value)


columns = {
    "a_bool": (Types.BOOLEAN(), True),
    "a_byte": (Types.BYTE(), -128),
    "a_short": (Types.SHORT(), 32767),
    "an_int": (Types.INT(), -5),
    "a_long": (Types.LONG(), 2**62),
    "a_float": (Types.FLOAT(), 1.5),
    "a_double": (Types.DOUBLE(), 0.1),
    "a_string": (Types.STRING(), "é\n"),
    "a_decimal": (Types.BIG_DEC(), Decimal("12.50")),
    "a_date": (Types.SQL_DATE(), dt.date(1969, 12, 31)),
    "a_time": (Types.SQL_TIME(), dt.time(23, 59, 58)),
    "bytes_": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    "ints": (Types.BASIC_ARRAY(Types.INT()), [1, 2]),
    "strings": (Types.OBJECT_ARRAY(Types.STRING()), ["x", None]),
    "a_map": (Types.MAP(Types.STRING(), Types.LONG()), {"k": 7}),
    "a_row": (Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()]), Row(1, "one")),
    "rows": (Types.OBJECT_ARRAY(Types.ROW_NAMED(["n"], [Types.INT()])), [Row(1), Row(2)]),
    "instant": (Types.INSTANT(), Instant.of_epoch_milli(1500)),
}
names = list(columns)
# Made in a function: from_collection of PyFlink takes no Instant that is None.
values = [columns[n][1] for n in names]
ds = env.from_collection([True, False], type_info=Types.BOOLEAN()).map(
    lambda full: Row(*[v if full else None for v in values]),
    Types.ROW_NAMED(names, [columns[n][0] for n in names]),
)
t_env.create_temporary_view("typed", ds)
for line in str(t_env.from_path("typed").get_resolved_schema()).splitlines()[1:-1]:
    print("column", line.strip())
# TIMESTAMP_LTZ leaves a query only with precision 3, see refused_ltz_precision.
query = t_env.sql_query(
    "SELECT 1 AS first_one, %s, CAST(instant AS TIMESTAMP_LTZ(3)) AS instant, TIMESTAMP '2024-02-29 01:02:03.456' "
    "AS ts FROM typed" % ", ".join("`%s`" % n for n in names[:-1])
)
shown = t_env.to_data_stream(query).flat_map(
    lambda r: ["%s = %s" % (name, show(r[name])) for name in ["first_one", *names, "ts"]], Types.STRING()
)
for line in shown.execute_and_collect():
    print("value", line.replace("\n", "\\n"))
