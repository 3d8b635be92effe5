"""Runs expressions twice, on Arrow and as Spark SQL text, and says where the values differ."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import Any

import pyarrow as pa

from penstock.formats.arrow_rows import arrow_type
from penstock.runtime.spark.session import get_spark
from penstock.sql.arrow import compile_columns
from penstock.sql.functions import SPARK_CONF, register_required, spark_type
from penstock.sql.plan.rex import Rex
from penstock.sql.spark.text import SparkWriter
from tests.sql.arrow import nasty


@lru_cache(maxsize=1)
def spark() -> Any:
    """A session of our own, in which the table is a view."""
    session = get_spark({"spark.master": "local[2]", "spark.driver.memory": "1g"}).newSession()
    for key, value in {**SPARK_CONF, "spark.sql.caseSensitive": "true"}.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    schema = ", ".join(f"c{i} {spark_type(t)}" for i, t in enumerate(nasty.types()))
    session.createDataFrame(nasty.table(), schema).coalesce(1).createOrReplaceTempView("nasty")
    return session


def on_spark(rexes: list[Rex], zone: str = "UTC") -> list[pa.ChunkedArray]:
    writer = SparkWriter(lambda scan: "")
    columns = [f"c{i}" for i in range(len(nasty.types()))]
    text = ", ".join(f"{writer.rex(rex, columns)} AS r{i}" for i, rex in enumerate(rexes))
    session = spark()
    session.conf.set("spark.sql.session.timeZone", zone)
    query = f"SELECT {text} FROM nasty"
    register_required(session, query)
    found = session.sql(query).toArrow()
    return [found.column(i) for i in range(len(rexes))]


def on_arrow(rexes: list[Rex], zone: str = "UTC") -> list[Any]:
    compiled = compile_columns(rexes, zone)
    assert compiled is not None
    table = nasty.table()
    return [expression(table.columns, table.num_rows) for expression in compiled]


def exact(value: Any) -> Any:
    """A value that is equal only to the very same: 0.0 is not -0.0, NaN is NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, list):
        return [exact(v) for v in value]
    if isinstance(value, tuple):
        return tuple(exact(v) for v in value)
    if isinstance(value, dict):
        return {k: exact(v) for k, v in value.items()}
    return value


def _integers(column: Any) -> Any:
    """Dates and timestamps as numbers: not all of them are Python dates."""
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.int32()) if pa.types.is_date32(column.type) else column


def differences(rex: Rex, ours: Any, spark: Any) -> list[str]:
    """What is different, in words; empty if nothing is."""
    wanted = arrow_type(rex.type)
    if ours.type != wanted:
        return [f"type {ours.type}, not {wanted}"]
    if spark.type != wanted:
        if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(spark.type):
            spark = spark.cast(wanted)
        elif not pa.types.is_nested(wanted):
            return [f"Spark has type {spark.type}, not {wanted}"]
    mine, theirs = _integers(ours).to_pylist(), _integers(spark).to_pylist()
    wrong = [i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if exact(a) != exact(b)]
    inputs = _inputs(rex)
    return [f"row {i} {inputs(i)}: {mine[i]!r}, Spark {theirs[i]!r}" for i in wrong]


def _inputs(rex: Rex) -> Any:
    from penstock.sql.plan.rex import InputRef, walk

    used = sorted({part.index for part in walk(rex) if isinstance(part, InputRef)})
    columns = [_integers(nasty.table().column(i)) for i in used]
    return lambda row: [column[row].as_py() for column in columns]
