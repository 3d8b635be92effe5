"""Parquet and ORC files, written in columns by Arrow.

Rows are gathered until they make a row group that is worth reading. What waits in memory counts with a share of its
size as if it were written: how much it will be in the file nobody knows before it is encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import ValidationError
from penstock.connectors.filesystem.rolling import ColumnWriter, piece_bytes
from penstock.formats.arrow_rows import arrow_type

_COLUMNAR = ("parquet", "orc")


def is_columnar(format_name: str) -> bool:
    return format_name in _COLUMNAR


def columnar_writer(
    format_name: str, stream: BinaryIO, row_type: RowType, options: Mapping[str, Any], limit_bytes: int
) -> ColumnWriter:
    """A writer into an open file.

    Raises:
        ValidationError: Arrow does not know the compression.
    """
    if format_name == "parquet":
        return ParquetWriter(stream, row_type, options["compression"], limit_bytes)
    return OrcWriter(stream, options["compress"], limit_bytes)


def file_schema(row_type: RowType) -> pa.Schema:
    """The columns as they are stored: a time of day has microseconds there, not nanoseconds."""
    return pa.schema([pa.field(f.name, _stored(arrow_type(f.data_type))) for f in row_type.fields])


def _stored(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_time(data_type):
        return pa.time64("us")
    if pa.types.is_list(data_type):
        return pa.list_(_stored(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(_stored(data_type.key_type), _stored(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(f.name, _stored(f.type)) for f in data_type])
    return data_type


class ParquetWriter(ColumnWriter):
    """A row group is written when a piece's worth of rows has come."""

    def __init__(
        self, stream: BinaryIO, row_type: RowType, compression: str | None, limit_bytes: int
    ) -> None:
        import pyarrow.parquet as pq

        self._stream = stream
        self._schema = file_schema(row_type)
        codec = _codec(compression, "snappy")
        try:
            self._parquet = pq.ParquetWriter(stream, self._schema, compression=codec)
        except (ValueError, OSError) as error:
            raise _unknown_codec("parquet.compression", compression, error) from None
        self._most_bytes = piece_bytes(limit_bytes)
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0

    def write_table(self, table: pa.Table) -> int:
        self._waiting.append(table.cast(self._schema, safe=False))
        self._waiting_bytes += table.nbytes
        if self._waiting_bytes >= self._most_bytes * 0.99:
            self._flush()
        return self._stream.tell()

    def _flush(self) -> None:
        if self._waiting:
            self._parquet.write_table(pa.concat_tables(self._waiting))
            self._waiting, self._waiting_bytes = [], 0

    def finish(self) -> None:
        self._flush()
        self._parquet.close()


class OrcWriter(ColumnWriter):
    """Stripes are written as they become full."""

    def __init__(self, stream: BinaryIO, compression: str | None, limit_bytes: int) -> None:
        from pyarrow import orc

        self._stream = stream
        codec = _codec(compression, "zstd")
        try:
            self._orc = orc.ORCWriter(
                stream,
                compression="uncompressed" if codec == "none" else codec,
                stripe_size=piece_bytes(limit_bytes),
            )
        except (ValueError, OSError) as error:
            raise _unknown_codec("orc.compress", compression, error) from None

    def write_table(self, table: pa.Table) -> int:
        self._orc.write(table)
        return self._stream.tell()

    def finish(self) -> None:
        self._orc.close()


def _codec(given: str | None, default: str) -> str:
    codec = (given or default).lower()
    return "none" if codec in ("none", "uncompressed") else codec


def _unknown_codec(option: str, given: str | None, error: Exception) -> ValidationError:
    return ValidationError(
        f"invalid value {given!r} for option '{option}': {error}", do="use snappy, gzip, zstd, lz4 or none"
    )
