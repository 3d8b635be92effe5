"""An aggregate whose accumulator is a map in keyed state: each entry is read and written by itself."""

from penstock.table import AggregateFunction, DataTypes, EnvironmentSettings, MapView, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udaf


class Mode(AggregateFunction):
    """The value that came most often."""

    def create_accumulator(self):
        return [MapView()]

    def accumulate(self, accumulator, value):
        counts = accumulator[0]
        counts[value] = (counts.get(value) or 0) + 1

    def retract(self, accumulator, value):
        accumulator[0][value] -= 1

    def get_value(self, accumulator):
        return max(accumulator[0].items(), key=lambda entry: entry[1])[0]

    def get_accumulator_type(self):
        counts = DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())
        return DataTypes.ROW([DataTypes.FIELD("counts", counts)])

    def get_result_type(self):
        return DataTypes.STRING()


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
orders = t_env.from_elements(
    [("ann", "tea"), ("ann", "pie"), ("ann", "tea"), ("bob", "pie")], ["who", "what"]
)
mode = udaf(Mode())
for row in (
    orders.group_by(col("who")).select(col("who"), mode(col("what")).alias("usual")).to_pandas().values
):
    print(*row)
