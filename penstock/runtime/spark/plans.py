"""What Spark says about its own plan of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def plan_with_costs(frame: DataFrame) -> str:
    """The optimized and the physical plan, with Spark's estimates of rows and bytes.

    `DataFrame.explain` prints the same, but does not return it.
    """
    query: Any = frame
    mode = query.sparkSession.sparkContext._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("cost")
    text: str = query._jdf.queryExecution().explainString(mode)
    return text
