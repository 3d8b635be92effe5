"""Which columns a result comes from, how it is computed, and what the planner warns of."""

from penstock.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from penstock.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql("CREATE TABLE orders (item STRING, price DOUBLE, n INT) WITH ('connector' = 'datagen')")
orders = t_env.from_path("orders")
totals = orders.group_by(col("item")).select(col("item"), (col("price") * col("n")).sum.alias("total"))
for row in totals.lineage().rows():
    print(row.column, "<-", row.source_column, row.type, *row.functions)
text = totals.explain(ExplainDetail.CHANGELOG_MODE, ExplainDetail.PLAN_ADVICE)
print("Aggregate(groupBy=[item]" in text, "changelogMode" in text)
totals.print_schema()
