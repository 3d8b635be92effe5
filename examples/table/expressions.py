"""Columns computed of columns: numbers, text, NULLs, dates, JSON."""

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expression import TimeIntervalUnit
from penstock.table.expressions import coalesce, col, concat, if_then_else, lit

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
orders = t_env.from_elements(
    [(1, "pen", 2.5, None), (2, "ink", 12.0, '{"gift": true}')], ["id", "item", "price", "note"]
)
result = orders.select(
    concat(col("item").upper_case, "-", col("id").cast(DataTypes.STRING())).alias("code"),
    (col("price") * 1.2).round(2).alias("gross"),
    if_then_else(col("price") > 10, "dear", "cheap").alias("class"),
    coalesce(col("note").json_value("$.gift"), "no").alias("gift"),
    (lit("2024-02-28").to_date + lit(2).days).extract(TimeIntervalUnit.MONTH).alias("month"),
)
for row in result.execute().collect():
    print(*row)
