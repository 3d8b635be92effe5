"""Grouping, joins, set operations, order: the everyday calls of a table."""

from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
orders = t_env.from_elements([(1, "ann", 3), (2, "bob", 5), (3, "ann", 4)], ["id", "who", "n"])
people = t_env.from_elements([("ann", "Oslo"), ("bob", "Rome"), ("cy", "Bonn")], ["name", "city"])

totals = orders.group_by(col("who")).select(col("who"), col("n").sum.alias("total"))
joined = people.left_outer_join(totals, col("name") == col("who"))
ranked = (
    joined.select(col("city"), col("total").if_null(0).alias("total")).order_by(col("total").desc).fetch(2)
)
for city, total in ranked.execute().collect():
    print(city, total)

cities = people.select(col("city"))
for (city,) in cities.minus(ranked.select(col("city"))).execute().collect():
    print("no rank:", city)
