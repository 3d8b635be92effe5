"""A stream of upserts is a table with a primary key: the newest row of a key counts."""

from penstock.common import Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env)
prices = env.from_collection(
    [
        Row.of_kind(RowKind.INSERT, "pen", 2),
        Row.of_kind(RowKind.INSERT, "book", 9),
        Row.of_kind(RowKind.UPDATE_AFTER, "pen", 3),
        Row.of_kind(RowKind.DELETE, "book", 9),
    ],
    Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.INT()]),
)
schema = (
    Schema.new_builder()
    .column("item", DataTypes.STRING().not_null())
    .column("price", DataTypes.INT())
    .primary_key("item")
    .build()
)
t_env.create_temporary_view("prices", t_env.from_changelog_stream(prices, schema, ChangelogMode.upsert()))
with t_env.execute_sql("SELECT COUNT(*), SUM(price) FROM prices").collect() as rows:
    *_, last = rows
print(list(last))
