"""MySQL's types, and one form of values for rows of queries and rows of the log.

type                 both give                        what they would give otherwise
BIT(n)               bytes                            the log: a text of 0 and 1
SET                  the text 'a,b'                   the log: a Python set
TIMESTAMP            an aware datetime in UTC         naive ones
FLOAT                the exact number                 queries: six digits of it
JSON (MySQL)         a compact text                   the log: Python objects
BINARY(n)            all n bytes                      the log: without zeros at the end
0000-00-00           None                             queries: a text
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.connectors.cdc.model import Column

Convert = Callable[[Any], Any]

ORDERED = frozenset((
    "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "date", "datetime",
    "timestamp", "binary", "varbinary", "year", "time",
))  # fmt: skip
"""Types that Python orders as the server does."""
REFUSED = frozenset((
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "geomcollection",
))  # fmt: skip
UNREADABLE = frozenset(("uuid", "inet4", "inet6"))
"""Types of MariaDB whose form in the log is not documented."""

_MEMBER = re.compile(r"'((?:[^']|'')*)'")
_SIGNED: dict[str, Callable[[], DataType]] = {
    "tinyint": DataTypes.TINYINT,
    "smallint": DataTypes.SMALLINT,
    "mediumint": DataTypes.INT,
    "int": DataTypes.INT,
    "bigint": DataTypes.BIGINT,
}
_UNSIGNED: dict[str, Callable[[], DataType]] = {
    "tinyint": DataTypes.SMALLINT,
    "smallint": DataTypes.INT,
    "mediumint": DataTypes.INT,
    "int": DataTypes.BIGINT,
    "bigint": lambda: DataTypes.DECIMAL(20, 0),
}
_SIMPLE: dict[str, Callable[[], DataType]] = {
    "float": DataTypes.FLOAT,
    "double": DataTypes.DOUBLE,
    "date": DataTypes.DATE,
    "year": DataTypes.INT,
    "set": lambda: DataTypes.ARRAY(DataTypes.STRING()),
    "binary": DataTypes.BYTES,
    "varbinary": DataTypes.BYTES,
    "blob": DataTypes.BYTES,
    "tinyblob": DataTypes.BYTES,
    "mediumblob": DataTypes.BYTES,
    "longblob": DataTypes.BYTES,
}


def natural_type(kind: str, full: str) -> DataType | None:
    """The Flink type for a column, as Flink CDC's documentation has it.

    >>> [natural_type(*of).as_summary() for of in (("bigint", "bigint(20) unsigned"), ("tinyint", "tinyint(1)"))]
    ['DECIMAL(20, 0)', 'BOOLEAN']
    """
    if full == "tinyint(1)" or full == "bit(1)":
        return DataTypes.BOOLEAN()
    if kind in _SIGNED:
        return (_UNSIGNED if "unsigned" in full else _SIGNED)[kind]()
    if kind in _SIMPLE:
        return _SIMPLE[kind]()
    numbers = [int(n) for n in re.findall(r"\d+", full.partition("(")[2].partition(")")[0])]
    if kind == "decimal":
        precision, scale = (*numbers, 0)[:2]
        return DataTypes.DECIMAL(precision, scale) if precision <= 38 else DataTypes.STRING()
    digits = numbers[0] if numbers else 0
    if kind == "bit":
        return DataTypes.BYTES()
    if kind == "time":
        return DataTypes.TIME(digits)
    if kind == "datetime":
        return DataTypes.TIMESTAMP(digits)
    if kind == "timestamp":
        return DataTypes.TIMESTAMP_LTZ(digits)
    return None if kind in REFUSED | UNREADABLE else DataTypes.STRING()


def members(full: str) -> list[str]:
    """The values of an ENUM or a SET.

    >>> members("enum('a','it''s')")
    ['a', "it's"]
    """
    return [text.replace("''", "'") for text in _MEMBER.findall(full)]


def size_of(full: str) -> int:
    digits = full.partition("(")[2].partition(")")[0]
    return int(digits) if digits.isdigit() else 1


def selected(column: Column, quoted: str) -> str:
    """The column in a query."""
    return f"({quoted} + 0e0)" if column.kind == "float" else quoted


def from_query(column: Column) -> Convert | None:
    """What a query's value becomes; None: it stays as it is."""
    if column.kind == "timestamp":
        return lambda value: value.replace(tzinfo=dt.timezone.utc) if isinstance(value, dt.datetime) else None
    if column.kind in ("date", "datetime"):
        return lambda value: None if isinstance(value, str) else value
    if column.kind == "json":
        return lambda value: _compact(json.loads(value))
    if column.kind == "binary":
        return lambda value: value.ljust(size_of(column.details[0]), b"\0")
    return None


def from_log(column: Column) -> Convert | None:
    """What a value of the log becomes; None: it stays as it is."""
    full = column.details[0]
    if column.kind == "timestamp":
        return lambda value: value.replace(tzinfo=dt.timezone.utc)
    if column.kind == "bit":
        size = (size_of(full) + 7) // 8
        return lambda value: int(value, 2).to_bytes(size, "big")
    if column.kind == "set":
        order = members(full)
        return lambda value: ",".join(member for member in order if member in value)
    if column.kind == "json":
        return lambda value: _compact(_texts(value))
    if column.kind == "binary":
        return lambda value: _bytes(value).ljust(size_of(full), b"\0")
    if "blob" in column.kind or column.kind == "varbinary":
        return _bytes
    return None


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def _texts(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {_texts(key): _texts(item) for key, item in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else value
