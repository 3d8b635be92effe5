"""Adding, replacing, renaming, choosing and dropping columns."""

from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col, range_, with_columns

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
orders = t_env.from_elements([(1, "pen", 2.5, 4)], ["id", "item", "price", "n"])
result = (
    orders.add_columns((col("price") * col("n")).alias("total"))
    .add_or_replace_columns(col("item").upper_case.alias("item"))
    .rename_columns(col("item").alias("product"))
    .drop_columns(col("id"))
)
print(result.get_schema().get_field_names())
print(orders.select(with_columns(range_("item", "n"))).get_schema().get_field_names())
for row in result.execute().collect():
    print(*row)
