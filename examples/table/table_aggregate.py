"""Several rows for a group: the two highest bids, by a table aggregate function."""

from penstock.common import Row
from penstock.table import DataTypes, EnvironmentSettings, TableAggregateFunction, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udtaf


class Highest(TableAggregateFunction):
    """Keeps the two highest values; what it emits replaces what it emitted before."""

    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, value):
        best = sorted([v for v in [*accumulator, value] if v is not None], reverse=True)[:2]
        accumulator[:] = [*best, None][:2]

    def emit_value(self, accumulator):
        for place, value in enumerate(accumulator, 1):
            if value is not None:
                yield Row(place, value)

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("place", DataTypes.INT()), DataTypes.FIELD("bid", DataTypes.BIGINT())]
        )


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
bids = t_env.from_elements([("pen", 3), ("pen", 7), ("ink", 5), ("pen", 4)], ["item", "bid"])
highest = udtaf(Highest())
result = (
    bids.group_by(col("item"))
    .flat_aggregate(highest(col("bid")).alias("place", "bid"))
    .select(col("item"), col("place"), col("bid"))
)
for row in result.to_pandas().sort_values(["item", "place"]).itertuples(index=False):
    print(*row)
