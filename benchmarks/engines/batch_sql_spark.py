"""Runs the queries of benchmarks/tpch as plain Spark SQL on the same Parquet files.

The texts keep to what both dialects share, so what Flink gets is also what one would write for Spark. The session has
penstock's settings for memory and shuffle partitions and is otherwise Spark's own.
usage: batch_sql_spark.py DATA RUNS [QUERY...]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from tpch.measure import measure
from tpch.tables import TABLES

from penstock.runtime.spark.session import get_spark

spark = get_spark()
for table in TABLES:
    spark.read.parquet(f"{sys.argv[1]}/{table}").createOrReplaceTempView(table)


def answer(text):
    return [tuple(row) for row in spark.sql(text).collect()]


measure(answer, runs=int(sys.argv[2]), only=sys.argv[3:])
