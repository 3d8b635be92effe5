"""pandas in and out, and the short forms that Flink does not have."""

import pandas as pd

from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
frame = pd.DataFrame({"k": ["a", "a", "b", None], "v": [3, 1, 2, 9]})
table = t_env.from_pandas(frame)
kept = table.dropna().cache()  # computed once
print(kept.filter(col("v") > 1).to_pandas().shape)
print(table.dropna().to_pandas()["v"].sum())
print(sorted(table.fillna({"k": "?"}).to_pandas()["k"]))
print(sorted(table.dropna().top_n(1, col("v").desc, partition_by=["k"]).to_pandas()["v"]))
print(sorted(table.dropna().deduplicate(["k"], col("v"), keep="first").to_pandas()["v"]))
print(sorted(table.dropna().replace({"a": "A"}).distinct().to_pandas()["k"]))
