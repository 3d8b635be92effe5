"""Evaluates built-in functions on Spark without parser and binder: name and Python values in, value out."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Sequence
from typing import Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.runtime.spark.session import get_spark
from penstock.sql.functions import FUNCTIONS, SPARK_CONF, Arg, ArgType, register_required, spark_type, string

_SESSION: list[Any] = []


def session() -> Any:
    """One session for all tests of this folder, with the settings that the texts rely on."""
    if not _SESSION:
        spark = get_spark({"spark.master": "local[2]", "spark.driver.memory": "1g"}).newSession()
        for key, value in {**SPARK_CONF, "spark.sql.session.timeZone": "UTC"}.items():
            spark.conf.set(key, value)
        _SESSION.append(spark)
    return _SESSION[0]


def typed(value: Any) -> DataType:
    """The Flink type of a literal of that Python value."""
    if isinstance(value, bool):
        return DataTypes.BOOLEAN(False)
    if isinstance(value, int):
        return DataTypes.INT(False) if -(2**31) <= value < 2**31 else DataTypes.BIGINT(False)
    if isinstance(value, float):
        return DataTypes.DOUBLE(False)
    if isinstance(value, decimal.Decimal):
        _, digits, exponent = value.as_tuple()
        return DataTypes.DECIMAL(max(len(digits), -int(exponent)), -int(exponent), False)
    if isinstance(value, str):
        return DataTypes.CHAR(len(value), False)
    if isinstance(value, bytes):
        return DataTypes.BINARY(len(value), False)
    if isinstance(value, dt.datetime):
        return DataTypes.TIMESTAMP(3, False)
    if isinstance(value, dt.date):
        return DataTypes.DATE(False)
    if isinstance(value, list):
        return DataTypes.ARRAY(typed(value[0]), False)
    raise TypeError(f"no literal for {value!r}")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP_NTZ'{value}'"
    if isinstance(value, dt.date):
        return f"DATE'{value}'"
    if isinstance(value, list):
        return f"array({', '.join(map(_text, value))})"
    if isinstance(value, float):
        return f"CAST('{value}' AS DOUBLE)"
    return str(value)


class Typed:
    """A value that is not a literal: a column of a given type."""

    def __init__(self, value: Any, data_type: DataType) -> None:
        self.value, self.type = value, data_type

    def arg(self) -> Arg:
        text = "NULL" if self.value is None else _text(self.value)
        return Arg(f"CAST({text} AS {spark_type(self.type)})", self.type)

    def __repr__(self) -> str:
        return f"{self.value!r}:{self.type.as_summary()}"


class Target:
    """The type of a CAST."""

    def __init__(self, data_type: DataType) -> None:
        self.type = data_type

    def arg(self) -> Arg:
        return Arg("", self.type)

    def __repr__(self) -> str:
        return self.type.as_summary()


def argument(value: Any) -> Arg:
    if isinstance(value, (Typed, Target)):
        return value.arg()
    return Arg(_text(value), typed(value), value)


def result_type(name: str, *values: Any) -> DataType:
    return FUNCTIONS[name].infer([ArgType(a.type, a.literal) for a in map(argument, values)])


def text_of_call(name: str, values: Sequence[Any]) -> str:
    args = [argument(v) for v in values]
    return FUNCTIONS[name].spark(args, result_type(name, *values))


def evaluate_all(calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
    """The values of many calls, asked for in one query."""
    texts = [text_of_call(name, values) for name, values in calls]
    query = "SELECT " + ", ".join(f"{t} AS r{i}" for i, t in enumerate(texts))
    register_required(session(), query)
    return list(session().sql(query).collect()[0])


def evaluate(name: str, *values: Any) -> Any:
    return evaluate_all([(name, values)])[0]
