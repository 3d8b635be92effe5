"""The Table API with a Python function: the same plan as SQL, written as Python."""

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udf


@udf(result_type=DataTypes.STRING())
def initials(name: str) -> str:
    return "".join(part[0].upper() for part in name.split())


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
people = t_env.from_elements(
    [("ada lovelace", 3), ("alan turing", 4), ("grace hopper", 5)], ["name", "papers"]
)
chosen = people.filter(col("papers") > 3).select(initials(col("name")).alias("who"), col("papers"))
with chosen.execute().collect() as rows:
    for who, papers in rows:
        print(who, papers)
