"""The SparkContext of this process, if there is one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


def running_context() -> SparkContext | None:
    """The context that runs; neither PySpark is imported for it, nor a context made."""
    module = sys.modules.get("pyspark.core.context")
    return None if module is None else module.SparkContext._active_spark_context
