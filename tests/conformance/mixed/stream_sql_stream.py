# a stream becomes a view, a query filters and computes, its rows are a stream again that is keyed and summed
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

orders = env.from_collection(
    [
        Row(1, "pen", 3),
        Row(2, "ink", 1),
        Row(3, "pen", 4),
        Row(4, None, 9),
        Row(5, "ink", 2),
        Row(6, "cap", None),
    ],
    type_info=Types.ROW_NAMED(["id", "item", "qty"], [Types.INT(), Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("orders", orders.filter(lambda r: r.id != 2))
query = t_env.sql_query("""
    SELECT UPPER(item) AS item, qty * 10 AS tens, CASE WHEN id > 3 THEN 'late' ELSE 'early' END AS part
    FROM orders WHERE item IS NOT NULL""")
print(query.get_schema().get_field_names())
rows = t_env.to_data_stream(query)
for row in rows.map(lambda r: "%s %s %s" % (r.item, r["tens"], r[2]), Types.STRING()).execute_and_collect():
    print("row", row)
sums = (
    rows.filter(lambda r: r.tens is not None)
    .map(lambda r: (r.item, r.tens), Types.TUPLE([Types.STRING(), Types.INT()]))
    .key_by(lambda t: t[0])
    .sum(1)
)
for item, total in sums.execute_and_collect():
    print("sum", item, total)
