"""Each row joined with what a table function makes of it, with and without rows that it makes nothing of."""

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udtf


@udtf(result_types=[DataTypes.STRING()])
def tags(text):
    for word in text.split():
        if word.startswith("#"):
            yield word


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
posts = t_env.from_elements([(1, "#tea is good"), (2, "so is #pie and #tea"), (3, "yes")], ["id", "text"])
inner = posts.join_lateral(tags(col("text")).alias("tag")).select(col("id"), col("tag"))
outer = posts.left_outer_join_lateral(tags(col("text")).alias("tag")).select(col("id"), col("tag"))
for name, result in {"inner": inner, "outer": outer}.items():
    for row in result.order_by(col("id"), col("tag")).execute().collect():
        print(name, *row)
