"""Files to rows, inside a task.

A `FileScan` says how the files of a table are read; it is pickled into the tasks together with their splits. A
split is a file, or for line formats a range of one: lines belong to the range in which they begin. Rows come in
file order, and `position` counts them so that a changelog can be replayed in arrival order.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.connectors.filesystem.files import FileEntry, FileStore, lines
from penstock.formats import find_format
from penstock.formats.base import INSERT, RecordContext
from penstock.formats.csv import CsvDecoder

# Room for 2^40 rows in one split before positions of two splits could meet.
_SPLIT_BITS = 40
SPLIT_BYTES = 128 << 20
_OPEN_COST_BYTES = 1 << 20
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

Change = tuple[int, tuple[Any, ...]]


@dataclass(frozen=True)
class FileSplit:
    """A file or a range of it, and the values of its partition columns."""

    file: FileEntry
    start: int
    length: int
    partition: tuple[Any, ...] = ()
    index: int = 0


@dataclass(frozen=True)
class Columns:
    """Rows of a file, those columns of them that somebody wants, by their position in the file's row."""

    rows: int
    by_place: Mapping[int, pa.Array]


@dataclass(frozen=True)
class FileScan:
    """How a table's files become rows.

    `layout` says for each output column where its value comes from: ("file", position in the file's row),
    ("partition", position) or ("metadata", key).
    """

    store: FileStore
    format_name: str
    options: Mapping[str, str]
    file_type: RowType
    layout: tuple[tuple[str, Any], ...]
    wanted: tuple[int, ...] | None = None
    with_kind: bool = False

    def rows(self, split: FileSplit) -> Iterator[tuple[Any, ...]]:
        """The split's rows in the layout's columns, then kind and position where they are asked for."""
        arrange = self.arranger(split)
        base = split.index << _SPLIT_BITS
        for n, (kind, row) in enumerate(self.changes(split)):
            out = arrange(row)
            yield (*out, kind, base + n) if self.with_kind else out

    def arranger(self, split: FileSplit) -> Any:
        """A function from a row of the file to one of the layout."""
        if all(place == ("file", i) for i, place in enumerate(self.layout)):
            return tuple
        constants: dict[str, Any] = {"partition": split.partition, "metadata": metadata(split.file)}
        parts = [
            (None, where) if kind == "file" else (constants[kind][where], None) for kind, where in self.layout
        ]
        return lambda row: tuple(value if at is None else row[at] for value, at in parts)

    def changes(self, split: FileSplit) -> Iterator[Change]:
        """The split's rows as they stand in the file, with their kinds."""
        file_format = find_format(self.format_name)
        context = RecordContext(split.file.path)
        if self.format_name == "avro":
            from penstock.formats.avro import read_avro

            with self.store.open_input(split.file.path) as stream:
                yield from ((INSERT, row) for row in read_avro(stream, self.file_type))
            return
        if file_format.decoder is None:
            raise InvariantError(f"format {self.format_name} has no record decoder")
        options = file_format.read_options(self.options)
        if file_format.framing == "csv":
            decoder = CsvDecoder(self.file_type, options, self.wanted)
            with self.store.open_input(split.file.path) as stream:
                text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
                yield from decoder.decode_lines(text, context)
            return
        yield from self._line_records(split, file_format.decoder(self.file_type, options))

    def _line_records(self, split: FileSplit, decoder: Any) -> Iterator[Change]:
        with self.open_lines(split) as (stream, limit, context):
            for number, line in enumerate(lines(stream, limit), 1):
                context.number = number
                yield from decoder.decode(line, context)

    @contextmanager
    def open_lines(
        self, split: FileSplit, byte: int = 0
    ) -> Iterator[tuple[BinaryIO, int | None, RecordContext]]:
        """The bytes at a line of the split, within how many of them its lines begin, and where they are.

        Args:
            byte: Where the line begins, counted from the beginning of the split's first one.
        """
        path, start = split.file.path, split.start
        if start == 0:
            whole = split.length == split.file.size or split.file.is_compressed
            with self.store.open_from(path, byte) as stream:
                yield stream, None if whole else split.length - byte, RecordContext(path)
            return
        # The line that reaches into the range belongs to the split before, so reading starts one byte early
        # and drops the first piece: it is a bare line end when a line begins exactly at the range's start.
        with self.store.open_at(path, start - 1) as stream:
            skipped = _skip_line(stream)
            stream.seek(start - 1 + skipped + byte)
            limit = max(0, split.length + 1 - skipped - byte)
            yield stream, limit, RecordContext(path, unit=f"line (counted from byte {start})")


def _skip_line(stream: BinaryIO) -> int:
    """How many bytes there are up to and with the next line end, or the end of the file."""
    skipped = 0
    while chunk := stream.read(1 << 16):
        end = chunk.find(b"\n")
        if end >= 0:
            return skipped + end + 1
        skipped += len(chunk)
    return skipped


def metadata(file: FileEntry) -> dict[str, Any]:
    """The connector's metadata of a file, by key."""
    modified_millis = file.modified_micros // 1000
    return {
        "file.path": file.path,
        "file.name": file.name,
        "file.size": file.size,
        "file.modification-time": _EPOCH + dt.timedelta(milliseconds=modified_millis),
    }


def cut(
    files: list[tuple[FileEntry, tuple[Any, ...]]], splittable: bool, split_bytes: int = SPLIT_BYTES
) -> list[FileSplit]:
    """Files with their partition values as splits, numbered in order."""
    splits: list[FileSplit] = []
    for file, partition in files:
        step = split_bytes if splittable and not file.is_compressed else max(file.size, 1)
        for start in range(0, max(file.size, 1), step):
            length = min(step, file.size - start)
            splits.append(FileSplit(file, start, length, partition, len(splits)))
    return splits


def task_bytes(sizes: Sequence[int], parallelism: int) -> int:
    """How much of files of these sizes a task should read, with the cost of opening each counted as bytes."""
    whole = sum(sizes) + _OPEN_COST_BYTES * len(sizes)
    return min(SPLIT_BYTES, max(4 * _OPEN_COST_BYTES, -(-whole // max(parallelism, 1))))


def group(splits: list[FileSplit], parallelism: int) -> list[list[FileSplit]]:
    """Neighbouring splits put together into tasks of about equal work, at most about `SPLIT_BYTES` each."""
    target = task_bytes([split.length for split in splits], parallelism)
    groups: list[list[FileSplit]] = []
    used = target + 1
    for split in splits:
        cost = split.length + _OPEN_COST_BYTES
        if used + cost > target:
            groups.append([])
            used = 0
        groups[-1].append(split)
        used += cost
    return groups
