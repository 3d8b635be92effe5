"""Shares files among the tasks of a batch query that has much to do with each row, in the order of the files.

Lines may be cut anywhere: a line belongs to the range in which it begins. A record of CSV may have line ends inside
quotes, so nobody who begins in the middle of a file can tell where a record begins. But up to the first quote every
line end ends a record, and to look for a quote is much faster than to read records: gigabytes a second. So a CSV file
on the local disk is cut up to its first quote; the last task reads on from there. Other CSV files stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyarrow import fs

from penstock.connectors.filesystem.files import FileEntry, FileStore
from penstock.connectors.filesystem.reader import FileScan, FileSplit, cut, group, task_bytes
from penstock.formats import find_format
from penstock.formats.csv import CsvDialect
from penstock.formats.csv_columns import CsvColumns

_LOOK_BYTES = 1 << 20

Files = list[tuple[FileEntry, tuple[Any, ...]]]


def spread_over(scan: FileScan, files: Files, parallelism: int) -> list[list[FileSplit]]:
    """The splits of each task."""
    sizes = [file.size for file, _ in files]
    step = task_bytes(sizes, parallelism)
    if find_format(scan.format_name).framing == "line":
        return group(cut(files, True, step), parallelism)
    splits = cut(files, False)
    quote = _quote(scan)
    if quote is not None and isinstance(scan.store.system, fs.LocalFileSystem):
        splits = [part for split in splits for part in _parts(scan.store, split, step, quote)]
        splits = [replace(split, index=index) for index, split in enumerate(splits)]
    return group(splits, parallelism)


def _quote(scan: FileScan) -> bytes | None:
    """The mark after which a line end may not end a record, empty if there is none; None if files stay whole."""
    file_format = find_format(scan.format_name)
    if file_format.framing != "csv":
        return None
    options = file_format.read_options(scan.options)
    return (CsvDialect.of(options).quote or "").encode() if CsvColumns.reads(options) else None


def _parts(store: FileStore, split: FileSplit, step: int, quote: bytes) -> list[FileSplit]:
    size = split.file.size
    count = -(-size // step)
    if split.file.is_compressed or count < 2:
        return [split]
    wanted = [size * n // count for n in range(1, count)]
    starts = sorted({0, *record_starts(store, split.file.path, wanted, quote)} - {size})
    return [
        replace(split, start=start, length=end - start)
        for start, end in zip(starts, [*starts[1:], size], strict=True)
    ]


def record_starts(store: FileStore, path: str, wanted: Sequence[int], quote: bytes) -> Iterator[int]:
    """Where records of a CSV file begin, one behind each wanted place, until a quote comes."""
    with store.open_at(path, 0) as stream:
        at = 0
        for place in wanted:
            while quote and at < place:
                seen = stream.read(min(_LOOK_BYTES, place - at))
                if not seen or quote in seen:
                    return
                at += len(seen)
            at = max(at, place)
            stream.seek(at)
            while b"\n" not in (seen := stream.read(_LOOK_BYTES)):
                at += len(seen)
                if not seen or (quote and quote in seen):
                    return
            line = seen[: seen.index(b"\n") + 1]
            if quote and quote in line:
                return
            at += len(line)
            stream.seek(at)
            yield at
