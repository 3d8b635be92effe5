"""Part files of a bounded size: when a file has grown beyond the limit it is closed, and the next row begins another.

    limit 10 bytes, rows of 4      aaaa bbbb cccc | dddd eeee ffff | gggg
                                   file 0: 12       file 1: 12       file 2: 4

As in Flink a file is asked for its size before the next row is written, so each one is larger than the limit by at
most a row (a block, for Avro; about a quarter, for Parquet and ORC), and none is empty. All files of a task are
closed when its rows end, that is at the end of every epoch: no file is open for longer, which is what a rollover or
inactivity interval asks for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.formats.base import Encoder

Row = tuple[object, ...]


class PartWriter(Protocol):
    """Writes rows into one file."""

    def write(self, kind: int, row: Row) -> int:
        """Writes a row; returns how many bytes the file has now."""

    def finish(self) -> None:
        """Writes what the format puts at the end; the file is closed by its owner."""


class ColumnWriter(ABC):
    """Writes insertions into one file, in columns."""

    @abstractmethod
    def write_table(self, table: pa.Table) -> int:
        """Writes rows; returns how many bytes the file has now, or will have at least."""

    @abstractmethod
    def finish(self) -> None:
        """Writes what the format puts at the end; the file is closed by its owner."""

    def write(self, kind: int, row: Row) -> int:
        raise InvariantError(f"{type(self).__name__} takes columns")


class LineWriter:
    """A record per line."""

    def __init__(self, stream: BinaryIO, encoder: Encoder) -> None:
        self._put = stream.write
        self._encode = encoder.encode
        self.size = 0

    def write(self, kind: int, row: Row) -> int:
        record = self._encode(kind, row) + b"\n"
        return self.put(record, len(record))

    def put(self, records: bytes | memoryview, size: int) -> int:
        """Writes whole records with their line ends; returns how many bytes the file has now."""
        self._put(records)
        self.size += size
        return self.size

    def finish(self) -> None:
        return None


class AvroWriter:
    """An Avro object file. It grows block by block, so it notices the limit up to a block late."""

    def __init__(self, stream: BinaryIO, row_type: RowType, codec: str | None) -> None:
        from penstock.formats.avro import AvroFileWriter

        self._stream = stream
        self._avro = AvroFileWriter(stream, row_type, codec)

    def write(self, kind: int, row: Row) -> int:
        self._avro.write(row)
        return self._stream.tell()

    def finish(self) -> None:
        self._avro.finish()


class RollingWriter:
    """The files of one partition in one task.

    Args:
        open_file: Opens file number n.
        make_writer: How rows get into an open file.
        limit_bytes: A file larger than that gets no more rows.
    """

    def __init__(
        self,
        open_file: Callable[[int], BinaryIO],
        make_writer: Callable[[BinaryIO], PartWriter],
        limit_bytes: int,
    ) -> None:
        self.files = 0
        self._open_file = open_file
        self._make_writer = make_writer
        self._limit_bytes = limit_bytes
        self._stream: BinaryIO | None = None
        self._writer: PartWriter | None = None

    def write(self, kind: int, row: Row) -> None:
        writer = self._writer or self._begin()
        if writer.write(kind, row) > self._limit_bytes:
            self.close()

    def write_table(self, table: pa.Table) -> None:
        """Writes insertions, for formats that take columns: in pieces, after each of which a file may end."""
        for piece in pieces(table, piece_bytes(self._limit_bytes)):
            writer = self._writer or self._begin()
            assert isinstance(writer, ColumnWriter)
            if writer.write_table(piece) > self._limit_bytes:
                self.close()

    def write_lines(self, lines: pa.Array) -> None:
        """Writes texts that end with a line end, into as many files as one by one would make."""
        offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
        data = memoryview(lines.buffers()[2])
        first = 0
        while first < len(lines):
            writer = self._writer or self._begin()
            assert isinstance(writer, LineWriter)
            begin = int(offsets[first])
            room = max(self._limit_bytes - writer.size, 0)
            full = int(np.searchsorted(offsets[1:], begin + room, side="right"))  # the row that exceeds it
            first = min(full + 1, len(lines))
            end = int(offsets[first])
            if writer.put(data[begin:end], end - begin) > self._limit_bytes:
                self.close()

    def _begin(self) -> PartWriter:
        self._stream = self._open_file(self.files)
        self._writer = self._make_writer(self._stream)
        self.files += 1
        return self._writer

    def close(self) -> None:
        """Ends the file that is open, if one is; the next row begins another."""
        if self._writer is not None and self._stream is not None:
            self._writer.finish()
            self._stream.close()
        self._writer = self._stream = None

    def abandon(self) -> None:
        """The file that is open will not be read by anybody."""
        if self._stream is not None:
            self._stream.close()
        self._writer = self._stream = None


def piece_bytes(limit_bytes: int) -> int:
    """How much of a table is written at once: a quarter of the limit, so that no file is much larger than that."""
    return max(1, min(limit_bytes // 4, 16 << 20))


def pieces(table: pa.Table, most_bytes: int) -> Iterator[pa.Table]:
    """The table in slices of about so many bytes in memory, at least a row each."""
    rows = table.num_rows
    step = max(1, rows * most_bytes // max(table.nbytes, 1))
    for start in range(0, rows, step):
        yield table.slice(start, step)
