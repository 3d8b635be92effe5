# from_changelog_stream with all row kinds: updates and deletes take effect in aggregates and in a join with a file table
import os
import tempfile

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

I, UB, UA, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
ds = env.from_collection(
    [
        Row.of_kind(I, 1, "pen", 10),
        Row.of_kind(I, 2, "ink", 5),
        Row.of_kind(UB, 1, "pen", 10),
        Row.of_kind(UA, 1, "cap", 12),
        Row.of_kind(I, 3, "pen", 7),
        Row.of_kind(D, 2, "ink", 5),
        Row.of_kind(I, 4, "cap", 1),
    ],
    type_info=Types.ROW_NAMED(["id", "item", "qty"], [Types.INT(), Types.STRING(), Types.INT()]),
)
schema = (
    Schema.new_builder()
    .column("id", "INT NOT NULL")
    .column("item", "STRING")
    .column("qty", "INT")
    .primary_key("id")
    .build()
)
t_env.create_temporary_view("orders", t_env.from_changelog_stream(ds, schema, ChangelogMode.all()))
t_env.create_temporary_view("keyless", t_env.from_changelog_stream(ds))

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "prices.csv"), "w") as f:
    f.write("pen,2\ncap,3\nink,100\n")
t_env.execute_sql(
    """
    CREATE TABLE prices (item STRING, price INT)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""
    % folder
)


def fold(label, sql):
    """Prints the table that the changes leave: their order depends on which input came first."""
    table = []
    with t_env.execute_sql(sql).collect() as rows:
        for row in rows:
            if row.get_row_kind() in (I, UA):
                table.append(list(row))
            else:
                table.remove(list(row))
    for row in sorted(table, key=str):
        print(label, *row)


with t_env.execute_sql("SELECT id, item, qty FROM keyless WHERE qty > 4").collect() as changes:
    for row in changes:
        print("change", row.get_row_kind(), *row)
fold("sum", "SELECT item, SUM(qty), COUNT(*) FROM orders GROUP BY item")
fold("all", "SELECT COUNT(*), SUM(qty), MAX(qty) FROM keyless")
fold("join", "SELECT o.id, o.item, o.qty * p.price FROM orders o JOIN prices p ON o.item = p.item")
