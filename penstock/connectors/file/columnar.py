"""Parquet and ORC files: read block by block (row group, stripe), written with every epoch.

The position is (block, row in it). A Parquet file can be split by byte ranges: a row group belongs to the range
that its first byte lies in. ORC files are read whole.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.datatypes import RowType
from penstock.common.errors import MalformedRecordError
from penstock.common.serialization import BulkWriter, RowDataBulkWriterFactory
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file.arrow import arrow_schema, rows_to_table, table_to_rows
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.file.format import BulkFormat, FileSourceSplit, RecordReader
from penstock.connectors.row_types import type_info_of

__all__ = ["OrcFileFormat", "OrcWriterFactory", "ParquetFileFormat", "ParquetWriterFactory"]

BATCH_ROWS = 2_048
ROWS_PER_BLOCK = 65_536


class ParquetFileFormat(BulkFormat):
    """Rows of Parquet files.

    Args:
        row_type: The columns to read, by name; None: all of them, each record a dict.
        batch_size: Rows that are handed out together.
        is_case_sensitive: Whether column names must agree in case.
    """

    splittable = True

    def __init__(
        self, row_type: RowType | None = None, batch_size: int = BATCH_ROWS, is_case_sensitive: bool = True
    ) -> None:
        self.row_type = row_type
        self.batch_size = batch_size
        self.is_case_sensitive = is_case_sensitive

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        return _ParquetReader(filesystem, split, position, self)

    def get_produced_type(self) -> TypeInformation | None:
        return None if self.row_type is None else type_info_of(self.row_type)


class OrcFileFormat(BulkFormat):
    """Rows of ORC files; `row_type` None: all columns, each record a dict."""

    def __init__(self, row_type: RowType | None = None, batch_size: int = BATCH_ROWS) -> None:
        self.row_type = row_type
        self.batch_size = batch_size
        self.is_case_sensitive = True

    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        return _OrcReader(filesystem, split, position, self)

    def get_produced_type(self) -> TypeInformation | None:
        return None if self.row_type is None else type_info_of(self.row_type)


class _BlockwiseReader(RecordReader):
    """Walks through the blocks of a split; subclasses say which, and read one."""

    def __init__(
        self,
        filesystem: FileSystem,
        split: FileSourceSplit,
        position: Any,
        file_format: ParquetFileFormat | OrcFileFormat,
    ) -> None:
        self._format = file_format
        self._path = split.path
        self._stream = filesystem.open_input(split.path)
        try:
            self._blocks = self._open(split)
        except pa.ArrowInvalid as error:
            raise MalformedRecordError(f"'{split.path}' cannot be read: {error}") from error
        self._table: pa.Table | None = None
        self.position = position or (self._blocks[0] if self._blocks else 0, 0)

    @abstractmethod
    def _open(self, split: FileSourceSplit) -> list[int]:
        """Opens the file; the numbers of the blocks that belong to the split."""

    @abstractmethod
    def _names(self) -> list[str]:
        """The file's column names."""

    @abstractmethod
    def _read_block(self, block: int, columns: list[str] | None) -> pa.Table:
        """One block; None: all columns."""

    def _columns(self) -> list[str] | None:
        row_type = self._format.row_type
        if row_type is None:
            return None
        names = self._names()
        known = {n: n for n in names} if self._format.is_case_sensitive else {n.lower(): n for n in names}
        wanted = [f.name if self._format.is_case_sensitive else f.name.lower() for f in row_type.fields]
        missing = [name for name in wanted if name not in known]
        if missing:
            raise MalformedRecordError(
                f"'{self._path}' has no columns {missing}; it has {names}",
                do="correct the row type, or remove the file",
            )
        return [known[name] for name in wanted]

    def next_batch(self) -> list[Any] | None:
        block, row = self.position
        if self._table is None:
            if block not in self._blocks:
                return None
            columns = self._columns()
            table = self._read_block(block, columns)
            self._table = table if columns is None else table.select(columns)
        piece = self._table.slice(row, self._format.batch_size)
        row += piece.num_rows
        if row >= self._table.num_rows:
            self._table = None
            self.position = (block + 1, 0)
        else:
            self.position = (block, row)
        row_type = self._format.row_type
        return piece.to_pylist() if row_type is None else table_to_rows(piece, row_type)

    def close(self) -> None:
        self._stream.close()


class _ParquetReader(_BlockwiseReader):
    def _open(self, split: FileSourceSplit) -> list[int]:
        self._file = pq.ParquetFile(self._stream)
        metadata = self._file.metadata
        end = float("inf") if split.end is None else split.end
        return [
            group
            for group in range(metadata.num_row_groups)
            if split.start <= _first_byte(metadata.row_group(group)) < end
        ]

    def _names(self) -> list[str]:
        return list(self._file.schema_arrow.names)

    def _read_block(self, block: int, columns: list[str] | None) -> pa.Table:
        return self._file.read_row_group(block, columns=columns)


def _first_byte(row_group: Any) -> int:
    if row_group.num_columns == 0:
        return 0
    column = row_group.column(0)
    offsets = (column.dictionary_page_offset, column.data_page_offset)
    return min(int(offset) for offset in offsets if offset)


class _OrcReader(_BlockwiseReader):
    def _open(self, split: FileSourceSplit) -> list[int]:
        import pyarrow.orc as orc

        self._file = orc.ORCFile(self._stream)
        return list(range(self._file.nstripes))

    def _names(self) -> list[str]:
        return list(self._file.schema.names)

    def _read_block(self, block: int, columns: list[str] | None) -> pa.Table:
        return pa.Table.from_batches([self._file.read_stripe(block, columns=columns)])


class ParquetWriterFactory(RowDataBulkWriterFactory):
    """Writes rows to Parquet; `compression` as pyarrow knows it."""

    def __init__(self, row_type: RowType, compression: str = "snappy") -> None:
        super().__init__(row_type)
        self.schema = arrow_schema(row_type)
        self.compression = compression

    def create(self, stream: BinaryIO) -> BulkWriter:
        writer = pq.ParquetWriter(stream, self.schema, compression=self.compression)
        return _TableWriter(writer.write_table, writer.close, self.get_row_type(), self.schema)


class OrcWriterFactory(RowDataBulkWriterFactory):
    """Writes rows to ORC."""

    def __init__(self, row_type: RowType, compression: str = "zstd") -> None:
        super().__init__(row_type)
        self.schema = arrow_schema(row_type)
        self.compression = compression

    def create(self, stream: BinaryIO) -> BulkWriter:
        import pyarrow.orc as orc

        # pyarrow closes what it is given; the stream belongs to the caller.
        writer = orc.ORCWriter(_Unclosed(stream), compression=self.compression)
        return _TableWriter(writer.write, writer.close, self.get_row_type(), self.schema)


class _Unclosed:
    """A file that stays open when its user closes it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.closed = False

    def write(self, data: bytes) -> int:
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def tell(self) -> int:
        return self._stream.tell()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


class _TableWriter(BulkWriter):
    def __init__(self, write: Any, close: Any, row_type: RowType, schema: pa.Schema) -> None:
        self._write = write
        self._close = close
        self._row_type = row_type
        self._schema = schema
        self._rows: list[Any] = []

    def add_element(self, element: Any) -> None:
        self.add_batch([element])

    def add_batch(self, values: list[Any]) -> None:
        self._rows.extend(values)
        if len(self._rows) >= ROWS_PER_BLOCK:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._write(rows_to_table(self._rows, self._row_type, self._schema))
            self._rows = []

    def finish(self) -> None:
        self.flush()
        self._close()
