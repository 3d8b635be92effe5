"""The raw format: one column whose bytes are the record.

Texts are in `raw.charset`, numbers in their fixed binary width and `raw.endianness`. Blank lines are records.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.datatypes import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DoubleType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import ValidationError
from penstock.formats.base import INSERT, Format, Option, RecordContext, Rows, malformed, one_of

_NUMBERS: dict[type[DataType], str] = {
    BooleanType: "?",
    TinyIntType: "b",
    SmallIntType: "h",
    IntType: "i",
    BigIntType: "q",
    FloatType: "f",
    DoubleType: "d",
}
_TEXTS = (CharType, VarCharType)
_BYTES = (BinaryType, VarBinaryType)


def _layout(data_type: DataType, options: Mapping[str, Any]) -> struct.Struct | None:
    code = _NUMBERS.get(type(data_type))
    order = "<" if options["endianness"] == "little-endian" else ">"
    return struct.Struct(order + code) if code else None


class RawDecoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        data_type = row_type.fields[0].data_type
        self._read: Callable[[bytes], Any]
        layout = _layout(data_type, options)
        if layout is not None:
            self._read = lambda record: layout.unpack(record)[0]
        elif isinstance(data_type, _TEXTS):
            self._read = lambda record: record.decode(options["charset"], "replace")
        else:
            self._read = bytes

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        data = record.encode() if isinstance(record, str) else record
        try:
            return [(INSERT, (self._read(data),))]
        except struct.error:
            raise malformed(
                f"{len(data)} bytes are not the width of the type", data, context, "raw"
            ) from None


class RawEncoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        data_type = row_type.fields[0].data_type
        self._write: Callable[[Any], bytes]
        layout = _layout(data_type, options)
        if layout is not None:
            self._write = layout.pack
        elif isinstance(data_type, _TEXTS):
            self._write = lambda value: str(value).encode(options["charset"], "replace")
        else:
            self._write = bytes

    def encode(self, kind: int, row: Any) -> bytes:
        return b"" if row[0] is None else self._write(row[0])


def check(row_type: RowType, options: Mapping[str, Any]) -> None:
    if len(row_type) != 1:
        columns = ", ".join(f"`{f.name}` {f.data_type.as_summary()}" for f in row_type.fields)
        raise ValidationError(
            f"the raw format supports a single physical column, but the table has: {columns}"
        )
    data_type = row_type.fields[0].data_type
    if type(data_type) not in _NUMBERS and not isinstance(data_type, _TEXTS + _BYTES):
        raise ValidationError(f"the raw format has no form for type {data_type.as_summary()}")


def _charset(text: str) -> str:
    try:
        return codecs.lookup(text).name
    except LookupError:
        raise ValueError("unknown charset") from None


RAW = Format(
    name="raw",
    options=(
        Option("charset", _charset, "utf-8"),
        Option("endianness", one_of("big-endian", "little-endian"), "big-endian"),
    ),
    decoder=RawDecoder,
    encoder=RawEncoder,
    check=check,
)

__all__ = ["RAW", "RawDecoder", "RawEncoder"]
