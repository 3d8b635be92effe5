"""JSON records to Arrow columns, many lines at a time: the fast way of the json format.

Arrow's parser takes no text for a number and no number for a text: such a block raises `NotCertain`, and the codec,
which knows Jackson's conversions, reads it. It would take two objects on one line, or one object on two lines, so
every line must begin with a brace, end with one, and give one row. Dates and timestamps are read as texts first
(text_columns.py).
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BooleanType,
    CharType,
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
    TinyIntType,
    VarCharType,
)
from penstock.formats.text_columns import NotCertain, ToColumn, text_converter

_SAME: dict[type[DataType], pa.DataType] = {
    CharType: pa.string(),
    VarCharType: pa.string(),
    BooleanType: pa.bool_(),
    TinyIntType: pa.int8(),
    SmallIntType: pa.int16(),
    IntType: pa.int32(),
    BigIntType: pa.int64(),
    DoubleType: pa.float64(),
}
_AS_TEXT = (DateType, TimestampType, LocalZonedTimestampType)
_NO_NUMBER = re.compile(rb"[:\[,]\s*-?(?:NaN|Inf)")  # Arrow takes these for numbers; they are not JSON


class JsonColumns:
    """Blocks of lines to columns."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        iso = options["timestamp-format.standard"] == "ISO-8601"
        self._convert = [_converter(f.data_type, iso) for f in row_type.fields]
        schema = pa.schema([pa.field(f.name, _parsed_type(f.data_type)) for f in row_type.fields])
        self._names = schema.names
        self._parse = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    @staticmethod
    def reads(row_type: RowType, options: Mapping[str, Any]) -> bool:
        """Whether Arrow knows the table's types, and the options ask for nothing that it does not do."""
        names = row_type.names
        return (
            not options["fail-on-missing-field"]
            and len(set(names)) == len(names)
            and all(_parsed_type(f.data_type) is not None for f in row_type.fields)
        )

    def columns(self, block: bytes) -> list[pa.Array]:
        """All columns of a block of whole lines."""
        rows = _object_lines(block)
        read = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = json.read_json(io.BytesIO(block), read, self._parse)
        except pa.ArrowException:
            raise NotCertain from None
        if table.num_rows != rows:
            raise NotCertain
        found = (table.column(name).combine_chunks() for name in self._names)
        return [convert(column) for column, convert in zip(found, self._convert, strict=True)]


def _object_lines(block: bytes) -> int:
    """How many lines there are, each of which begins and ends as an object."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    text = block if block.endswith(b"\n") else block + b"\n"
    lines = text.count(b"\n")
    braces = text.startswith(b"{") and text.count(b"\n{") == lines - 1 and text.count(b"}\n") == lines
    if not braces or ((b"NaN" in text or b"Inf" in text) and _NO_NUMBER.search(text)):
        raise NotCertain
    try:
        text.isascii() or text.decode("utf-8")
    except UnicodeDecodeError:
        raise NotCertain from None
    return lines


def _parsed_type(data_type: DataType) -> pa.DataType | None:
    """What Arrow's parser is told to read; None where it has no such type."""
    if isinstance(data_type, _AS_TEXT):
        return pa.string()
    if isinstance(data_type, FloatType):
        return pa.float64()
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    return _nested_type(data_type)


def _nested_type(data_type: DataType) -> pa.DataType | None:
    """The types that need no second step, which is what may stand inside of others."""
    if isinstance(data_type, ArrayType):
        element = _nested_type(data_type.element_type)
        return None if element is None else pa.list_(element)
    if isinstance(data_type, RowType):
        parts = [(f.name, _nested_type(f.data_type)) for f in data_type.fields]
        known = parts and all(t is not None for _, t in parts) and len({n for n, _ in parts}) == len(parts)
        return pa.struct(parts) if known else None
    return _SAME.get(type(data_type))


def _converter(data_type: DataType, iso: bool) -> ToColumn:
    if isinstance(data_type, _AS_TEXT):
        convert = text_converter(data_type, iso=iso)
        assert convert is not None
        return convert
    if isinstance(data_type, FloatType):
        return lambda column: _finite(column).cast(pa.float32())
    if isinstance(data_type, DecimalType):
        return _fitting
    return _finite if isinstance(data_type, DoubleType) else lambda column: column


def _fitting(column: pa.Array) -> pa.Array:
    """Arrow reads 10000 as a DECIMAL(6, 2) although it has seven digits then; only validation notices."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise NotCertain from None
    return column


def _finite(column: pa.Array) -> pa.Array:
    if pc.all(pc.is_finite(column), min_count=0).as_py():
        return column
    raise NotCertain
