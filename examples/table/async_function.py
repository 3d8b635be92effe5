"""A function that waits for answers, with many questions under way at a time."""

import asyncio

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import AsyncScalarFunction, udf

CAPITALS = {"France": "Paris", "Japan": "Tokyo"}


class Capital(AsyncScalarFunction):
    async def eval(self, country):
        await asyncio.sleep(0.01)  # a service far away
        return CAPITALS.get(country, "unknown")


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("table.exec.async-scalar.max-concurrent-operations", "100")
t_env.get_config().set("table.exec.async-scalar.timeout", "30 s")
capital = udf(Capital(), result_type=DataTypes.STRING())
countries = t_env.from_elements([("France",), ("Japan",), ("Peru",)], ["country"])
for row in countries.select(col("country"), capital(col("country"))).execute().collect():
    print(*row)
