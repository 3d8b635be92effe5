"""Flink's built-in SQL functions, written as Spark SQL text.

`registry` says how a function is described and under which names operators and keyword forms are found; one
module per group fills it. Queries made of these texts need the session settings in `SPARK_CONF` and, before
they run, `register_required(spark, text)`.
"""

from __future__ import annotations

from penstock.sql.functions import (  # noqa: F401  (each module registers its functions)
    aggregates,
    arithmetic,
    bitmaps,
    casts,
    collections,
    comparison,
    conditional,
    enforcing,
    hashes,
    json,
    logical,
    numbers,
    regex,
    strings,
    temporal,
    window_functions,
)
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.common_types import common_type
from penstock.sql.functions.registry import FUNCTIONS, NO_LITERAL, Arg, ArgType, FunctionDef, find
from penstock.sql.functions.text import SPARK_CONF, spark_type, string
from penstock.sql.functions.udfs import register_required, required_udfs

__all__ = [
    "FUNCTIONS",
    "NO_LITERAL",
    "SPARK_CONF",
    "Arg",
    "ArgType",
    "FunctionDef",
    "cast_sql",
    "common_type",
    "find",
    "register_required",
    "required_udfs",
    "spark_type",
    "string",
]
