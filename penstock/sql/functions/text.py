"""Small pieces of Spark SQL text: literals, type names, bindings, run-time failures, calls of Python UDFs.

Arguments are texts that may be long, and a long text must not be written twice: nested calls would grow
exponentially. `let` binds them once through a one-element array and a lambda:

    let(lambda v: f"if({v} > 0, {v}, 0)", "c0 + c1")
    -> transform(array(named_struct('v0', c0 + c1)), v -> if(v.v0 > 0, v.v0, 0))[0]

A plain column or a short literal is simply repeated. Spark does not allow Python UDFs in a lambda, so a
body never calls `udf`; arguments may.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
    YearMonthIntervalType,
)
from penstock.common.errors import NotSupportedError
from penstock.common.function_types import BitmapType

_SIMPLE = re.compile(r"[A-Za-z_][\w.]{0,40}|-?\d{1,20}|'[^'\\]{0,30}'|`[^`]+`(\.`[^`]+`)*")

_LITERAL = re.compile(r"-?\d{1,20}|'[^'\\]{0,30}'|NULL|TRUE|FALSE", re.IGNORECASE)

SPARK_CONF = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
}
"""Session settings that the texts made here rely on."""

_SPARK_NAMES: dict[type[DataType], str] = {
    BooleanType: "BOOLEAN",
    TinyIntType: "TINYINT",
    SmallIntType: "SMALLINT",
    IntType: "INT",
    BigIntType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    CharType: "STRING",
    VarCharType: "STRING",
    BinaryType: "BINARY",
    VarBinaryType: "BINARY",
    RawType: "BINARY",
    BitmapType: "BINARY",
    DateType: "DATE",
    TimeType: "TIME",
    TimestampType: "TIMESTAMP_NTZ",
    LocalZonedTimestampType: "TIMESTAMP",
    YearMonthIntervalType: "INTERVAL YEAR TO MONTH",
    DayTimeIntervalType: "INTERVAL DAY TO SECOND",
    VariantType: "VARIANT",
    NullType: "VOID",
}


def spark_type(data_type: DataType) -> str:
    """The Spark type that holds values of a Flink type.

    >>> from penstock.common.datatypes import DataTypes
    >>> spark_type(DataTypes.ARRAY(DataTypes.TIMESTAMP(3)))
    'ARRAY<TIMESTAMP_NTZ>'
    """
    if isinstance(data_type, DecimalType):
        return f"DECIMAL({data_type.precision}, {data_type.scale})"
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{spark_type(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{spark_type(data_type.key_type)}, {spark_type(data_type.value_type)}>"
    if isinstance(data_type, MultisetType):
        return f"MAP<{spark_type(data_type.element_type)}, INT>"
    if isinstance(data_type, RowType):
        fields = ", ".join(f"{quoted_name(f.name)}: {spark_type(f.data_type)}" for f in data_type.fields)
        return f"STRUCT<{fields}>"
    for cls in type(data_type).__mro__:
        if cls in _SPARK_NAMES:
            return _SPARK_NAMES[cls]
    raise NotSupportedError(f"values of type {data_type.as_summary()}", "Spark has no type for them")


def quoted_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def string(value: str) -> str:
    """A Spark string literal.

    >>> print(string("it's a \\\\"))
    'it\\'s a \\\\'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def cast(sql: str, data_type: DataType) -> str:
    """Spark's own CAST: only where the value surely fits or Spark's answer is Flink's."""
    return f"CAST({sql} AS {spark_type(data_type)})"


def typed_null(data_type: DataType) -> str:
    return f"CAST(NULL AS {spark_type(data_type)})"


def is_simple(sql: str) -> bool:
    return _SIMPLE.fullmatch(sql) is not None


def let(body: Callable[..., str], *values: str) -> str:
    """`body` over names for `values`, each evaluated once."""
    if all(is_simple(value) for value in values):
        return body(*values)
    names: list[str] = []
    fields: list[str] = []
    for value in values:
        if _LITERAL.fullmatch(value):
            names.append(value)
        else:
            names.append(f"v.v{len(fields) // 2}")
            fields += [f"'v{len(fields) // 2}'", value]
    return f"transform(array(named_struct({', '.join(fields)})), v -> {body(*names)})[0]"


def fail(message: str) -> str:
    """An expression that fails the job when it is evaluated; `message` is Spark SQL text."""
    return f"raise_error({message})"


def fail_text(message: str) -> str:
    return fail(string(message))


def udf(name: str, *args: str) -> str:
    """A call of the Python UDF `name` of `udfs.py`."""
    return f"penstock_{name}({', '.join(args)})"
