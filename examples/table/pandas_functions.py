"""Functions that see whole columns: of values, of groups, of windows that move with the rows."""

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import CURRENT_RANGE, UNBOUNDED_RANGE, col
from penstock.table.udf import udaf, udf
from penstock.table.window import Over


@udf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def share(part, whole):
    return part / whole


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def middle(values):
    return values.median()


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
visits = t_env.from_elements(
    [("ann", 1, 4), ("ann", 3, 4), ("bob", 8, 16), ("ann", 2, 4)], ["who", "n", "of"]
)
results = {
    "share": visits.select(col("who"), share(col("n"), col("of"))),
    "middle": visits.group_by(col("who")).select(col("who"), middle(col("n"))),
    "so far": visits.over_window(
        Over.partition_by(col("who"))
        .order_by(col("n"))
        .preceding(UNBOUNDED_RANGE)
        .following(CURRENT_RANGE)
        .alias("w")
    ).select(col("who"), col("n"), middle(col("n")).over(col("w"))),
}
for name, result in results.items():
    for row in result.execute().collect():
        print(name, *row)
