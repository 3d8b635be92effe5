"""Python functions on values, rows and groups: udf, udtf, udaf, map, flat_map."""

from penstock.common import Row
from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udaf, udf, udtf


@udf(result_type=DataTypes.BIGINT())
def squared(value):
    return value * value


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.BIGINT())]
    )
)
def shout(row):
    return Row(row.name.upper(), row.n + 1)


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def letters(word):
    for i, letter in enumerate(word):
        yield letter, i


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean(values):
    return values.mean()


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
table = t_env.from_elements([("ab", 2), ("c", 3)], ["name", "n"])
results = {
    "udf": table.select(squared(col("n"))),
    "map": table.map(shout),
    "udtf": table.join_lateral(letters(col("name")).alias("letter", "at")).select(col("letter"), col("at")),
    "udaf": table.select(mean(col("n"))),
}
for name, result in results.items():
    for row in result.execute().collect():
        print(name, *row)
