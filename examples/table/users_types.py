"""Objects of one's own classes in a table, and constants that are lists and rows."""

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col, lit
from penstock.table.types import UserDefinedType


class PointType(UserDefinedType):
    @classmethod
    def sql_type(cls):
        return DataTypes.ARRAY(DataTypes.DOUBLE())

    @classmethod
    def module(cls):
        return "__main__"

    def serialize(self, point):
        return [point.x, point.y]

    def deserialize(self, values):
        return Point(*values)


class Point:
    __UDT__ = PointType()

    def __init__(self, x, y):
        self.x, self.y = x, y


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
places = t_env.from_elements([("home", Point(1.0, 2.0)), ("work", Point(3.0, 5.0))], ["name", "at"])
result = places.select(col("name"), col("at").at(2), lit([1, 2, 3]).cardinality)
for row in result.order_by(col("name")).execute().collect():
    print(*row)
