"""The program's own rows as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from penstock.formats.arrow_rows import columns_type
from penstock.sql.plan.algebra import LocalRows
from penstock.sql.spark.schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def local_frame(spark: SparkSession, rows: LocalRows) -> DataFrame:
    """The Arrow table in Spark's types of the columns."""
    schema = StructType.fromDDL(spark_schema(columns_type([f.type for f in rows.fields])))
    return spark.createDataFrame(rows.data.table, schema)
