"""Partition columns live in folder names: `day=mon/hour=3`.

A value is written as Java prints it, with characters that would confuse a path as `%XX`. NULL and the empty text
have no folder name of their own and go to `partition.default-name`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from penstock.common.datatypes import (
    BigIntType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
)
from penstock.common.errors import MalformedRecordError
from penstock.formats import values as v
from penstock.formats.base import BadField
from penstock.formats.java_text import value_text

_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
_INTEGER_BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}


def escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found.group()):02X}", text)


@dataclass(frozen=True)
class Partitioning:
    """The partition columns of a table, in the order of the folders."""

    keys: tuple[str, ...]
    types: tuple[DataType, ...]
    default_name: str

    @staticmethod
    def of(schema: RowType, keys: Sequence[str], default_name: str) -> Partitioning:
        return Partitioning(tuple(keys), tuple(schema[key].data_type for key in keys), default_name)

    def folder(self, values: Sequence[Any]) -> str:
        """The folder of a partition, relative to the table; '' for a table without partitions."""
        parts = []
        for key, value in zip(self.keys, values, strict=True):
            text = "" if value is None else value_text(value)
            parts.append(f"{escape(key)}={escape(text) if text else self.default_name}")
        return "/".join(parts)

    def values(self, relative: str) -> tuple[Any, ...] | None:
        """The values in a file's relative path; None where it does not lie in a partition folder."""
        found = {}
        for part in relative.split("/")[:-1]:
            key, equals, text = part.partition("=")
            if equals:
                found[unquote(key)] = text
        if not all(key in found for key in self.keys):
            return None
        return tuple(
            self._value(found[key], data_type) for key, data_type in zip(self.keys, self.types, strict=True)
        )

    def _value(self, text: str, data_type: DataType) -> Any:
        if text == self.default_name:
            return None
        try:
            return parse_value(unquote(text), data_type)
        except BadField as error:
            raise MalformedRecordError(
                f"partition value {text!r} is not of type {data_type.as_summary()}: {error}"
            ) from None


def parse_value(text: str, data_type: DataType) -> Any:
    if type(data_type) in _INTEGER_BITS:
        return v.parse_integer(text, _INTEGER_BITS[type(data_type)])
    if isinstance(data_type, BooleanType):
        return v.parse_boolean(text)
    if isinstance(data_type, (FloatType, DoubleType)):
        return v.parse_double(text)
    if isinstance(data_type, DecimalType):
        return v.parse_decimal(text, data_type.precision, data_type.scale)
    if isinstance(data_type, DateType):
        return v.parse_date(text)
    if isinstance(data_type, TimeType):
        return v.parse_time(text, data_type.precision, short=True)
    if isinstance(data_type, TimestampType):
        return v.parse_timestamp(text, data_type.precision, iso=True)
    if isinstance(data_type, LocalZonedTimestampType):
        return v.parse_timestamp_ltz(text, data_type.precision, iso=True)
    return text.encode() if isinstance(data_type, (BinaryType, VarBinaryType)) else text
