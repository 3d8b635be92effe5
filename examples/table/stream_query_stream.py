"""A stream becomes a table, a query runs over it, and its rows go on as a stream: one job."""

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env)

orders = env.from_collection(
    [Row("pen", 3), Row("book", 1), Row("pen", 40)],
    Types.ROW_NAMED(["item", "amount"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("orders", orders)
large = t_env.sql_query("SELECT UPPER(item) AS item, amount * 2 AS amount FROM orders WHERE amount > 2")
for line in (
    t_env.to_data_stream(large)
    .map(lambda row: f"{row.amount} x {row.item}", Types.STRING())
    .execute_and_collect()
):
    print(line)
