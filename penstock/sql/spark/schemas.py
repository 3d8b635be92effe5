"""The columns of a relation as Spark's DDL text."""

from __future__ import annotations

from penstock.common.datatypes import RowType
from penstock.sql.functions.text import quoted_name, spark_type


def spark_schema(row_type: RowType) -> str:
    """For `mapInArrow` and readers."""
    return ", ".join(f"{quoted_name(f.name)} {spark_type(f.data_type)}" for f in row_type.fields)
