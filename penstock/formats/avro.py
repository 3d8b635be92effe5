"""Avro object files through fastavro: a schema from a row type, and rows in and out.

Timestamps are `local-timestamp-*` for TIMESTAMP and `timestamp-*` for TIMESTAMP_LTZ, millisecond up to precision
3, else microsecond; nullable types are unions with null first.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import MalformedRecordError, MissingDependencyError, ValidationError
from penstock.formats.base import INSERT, RecordContext, Rows

_SIMPLE: dict[type[DataType], Any] = {
    CharType: "string",
    VarCharType: "string",
    BooleanType: "boolean",
    TinyIntType: "int",
    SmallIntType: "int",
    IntType: "int",
    BigIntType: "long",
    FloatType: "float",
    DoubleType: "double",
    BinaryType: "bytes",
    VarBinaryType: "bytes",
    DateType: {"type": "int", "logicalType": "date"},
    TimeType: {"type": "int", "logicalType": "time-millis"},
}


def fastavro_module() -> Any:
    try:
        import fastavro
    except ImportError as error:
        raise MissingDependencyError(
            "the avro format needs the package fastavro", do="pip install 'penstock[avro]'"
        ) from error
    return fastavro


def avro_schema(row_type: RowType, name: str = "record") -> dict[str, Any]:
    """The record schema for a row type; nested records get their path as name."""
    fields = [
        {"name": f.name, "type": _schema(f.data_type, f"{name}_{f.name}"), "default": None}
        if f.data_type.is_nullable
        else {"name": f.name, "type": _schema(f.data_type, f"{name}_{f.name}")}
        for f in row_type.fields
    ]
    return {"type": "record", "name": name, "fields": fields}


def _schema(data_type: DataType, name: str) -> Any:
    bare = _bare_schema(data_type, name)
    return ["null", bare] if data_type.is_nullable else bare


def _bare_schema(data_type: DataType, name: str) -> Any:
    if type(data_type) in _SIMPLE:
        return _SIMPLE[type(data_type)]
    if isinstance(data_type, DecimalType):
        scale = data_type.scale
        return {"type": "bytes", "logicalType": "decimal", "precision": data_type.precision, "scale": scale}
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        unit = "millis" if data_type.precision <= 3 else "micros"
        local = "local-" if isinstance(data_type, TimestampType) else ""
        return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    if isinstance(data_type, ArrayType):
        return {"type": "array", "items": _schema(data_type.element_type, name)}
    if isinstance(data_type, MapType):
        return {"type": "map", "values": _schema(data_type.value_type, name)}
    if isinstance(data_type, MultisetType):
        return {"type": "map", "values": "int"}
    if isinstance(data_type, RowType):
        return avro_schema(data_type, name)
    raise ValidationError(f"the avro format has no form for type {data_type.as_summary()}")


Convert = Callable[[Any], Any]


def to_avro(data_type: DataType) -> Convert:
    if isinstance(data_type, RowType):
        parts = [(f.name, to_avro(f.data_type)) for f in data_type.fields]
        return lambda row: {
            name: None if x is None else convert(x) for (name, convert), x in zip(parts, row, strict=True)
        }
    if isinstance(data_type, ArrayType):
        element = to_avro(data_type.element_type)
        return lambda items: [None if x is None else element(x) for x in items]
    if isinstance(data_type, MapType):
        item = to_avro(data_type.value_type)
        return lambda entries: {k: None if x is None else item(x) for k, x in entries.items()}
    return lambda value: value


def from_avro(data_type: DataType) -> Convert:
    if isinstance(data_type, RowType):
        parts = [(f.name, from_avro(f.data_type)) for f in data_type.fields]
        return lambda record: tuple(
            None if record.get(name) is None else convert(record[name]) for name, convert in parts
        )
    if isinstance(data_type, ArrayType):
        element = from_avro(data_type.element_type)
        return lambda items: [None if x is None else element(x) for x in items]
    if isinstance(data_type, MapType):
        item = from_avro(data_type.value_type)
        return lambda entries: {k: None if x is None else item(x) for k, x in entries.items()}
    if isinstance(data_type, TimestampType):
        # Files of older writers hold TIMESTAMP as a moment in UTC.
        return lambda value: value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(data_type, LocalZonedTimestampType):
        return lambda value: value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
    return lambda value: value


def read_avro(stream: BinaryIO, row_type: RowType) -> Iterator[tuple[Any, ...]]:
    """The rows of an object file, fields found by name."""
    convert = from_avro(row_type)
    try:
        for record in fastavro_module().reader(stream):
            yield convert(record)
    except (ValueError, EOFError, KeyError) as error:
        raise MalformedRecordError(f"avro file cannot be read: {error}") from error


def read_avro_blocks(
    open_from: Callable[[int], BinaryIO], row_type: RowType, start: int = 0
) -> Iterator[tuple[int, Iterator[tuple[Any, ...]]]]:
    """The blocks of an object file, from the one that begins at byte `start` on: where each begins, and its rows.

    A block can only be read with the file's header, which has the schema: it is put before the rest of the file.

    Args:
        open_from: Opens the file at a byte.
        start: Where a block begins, as this function has said; 0: the first.
    """
    convert, avro = from_avro(row_type), fastavro_module()
    header = b""
    try:
        if start:
            with open_from(0) as stream:
                first = next(iter(avro.block_reader(_Following(b"", stream))), None)
            with open_from(0) as stream:
                header = stream.read(first.offset) if first is not None else b""
        with open_from(start) as stream:
            for block in avro.block_reader(_Following(header, stream)):
                yield block.offset + start - len(header), (convert(record) for record in block)
    except (ValueError, EOFError, KeyError) as error:
        raise MalformedRecordError(f"avro file cannot be read: {error}") from error


class _Following:
    """Some bytes and then a stream, which only has to be read."""

    def __init__(self, before: bytes, stream: BinaryIO) -> None:
        self._before = io.BytesIO(before)
        self._stream = stream
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        data = self._before.read(size)
        if size < 0 or len(data) < size:
            data += self._stream.read(size - len(data) if size >= 0 else -1)
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at


class AvroFileWriter:
    """Writes one object file, a block at a time. Flink's default codec is snappy; deflate needs no library."""

    def __init__(self, stream: BinaryIO, row_type: RowType, codec: str | None = None) -> None:
        self._convert = to_avro(row_type)
        self._writer = fastavro_module().write.Writer(stream, avro_schema(row_type), codec=codec or "deflate")

    def write(self, row: tuple[Any, ...]) -> None:
        self._writer.write(self._convert(row))

    def finish(self) -> None:
        """Writes the last block; the stream stays open."""
        self._writer.flush()


class AvroDecoder:
    """Single records in Avro's binary form; both sides derive the schema from the table's columns."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        avro = fastavro_module()
        self._schema = avro.parse_schema(avro_schema(row_type))
        self._read = avro.schemaless_reader
        self._convert = from_avro(row_type)

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        data = record.encode() if isinstance(record, str) else record
        try:
            return [(INSERT, self._convert(self._read(io.BytesIO(data), self._schema)))]
        except (ValueError, EOFError, KeyError, IndexError, TypeError, OverflowError) as error:
            raise MalformedRecordError(
                f"avro record cannot be read: {error or 'it ends too early'}; it has {len(data)} bytes",
                where=context.where(),
                do="check that the table's columns, their order and whether they may be NULL are the writer's",
            ) from None


class AvroEncoder:
    """The other direction of `AvroDecoder`."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        avro = fastavro_module()
        self._schema = avro.parse_schema(avro_schema(row_type))
        self._write = avro.schemaless_writer
        self._convert = to_avro(row_type)

    def encode(self, kind: int, row: Any) -> bytes:
        stream = io.BytesIO()
        self._write(stream, self._schema, self._convert(row))
        return stream.getvalue()
