"""The source of a filesystem table: what there is to read, and reading it from any row on.

A subtask reads its files one after the other, as Flink's source does. So a split is a list of files, and its
position says which file comes next, how many of its rows were read, and where the block with the last of them begins:

    (2, 70_000, Place(row=65_536, byte=4_194_304, line=65_537))

Files that are found later, with a monitor interval, are splits of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import RowType
from penstock.connectors.filesystem.blocks import START, BlockReader, Place
from penstock.connectors.filesystem.listing import FileListing
from penstock.connectors.filesystem.reader import FileScan, FileSplit
from penstock.connectors.seen_files import SeenFiles
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    BadRecord,
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["FileTableEnumerator", "FileTableReader", "FileTableSource", "FilesSplit"]


@dataclass(frozen=True)
class FilesSplit(SourceSplit):
    """Files, or ranges of files, that are read in order."""

    files: tuple[FileSplit, ...] = ()


class FileTableSource(Source):
    """Rows of a table's files, in columns.

    Args:
        listing: Which files.
        scan: How they are read.
        row_type: The columns of the scan's layout, and the kind behind them for a format of changes.
        interval_ms: How often to look for new files; None: the files are those that are there at the start.
    """

    def __init__(
        self, listing: FileListing, scan: FileScan, row_type: RowType, interval_ms: int | None = None
    ) -> None:
        self.listing = listing
        self.scan = scan
        self.row_type = row_type
        self.interval_ms = interval_ms

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.interval_ms is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> FileTableEnumerator:
        return FileTableEnumerator(self.listing.splits, context.parallelism, self.interval_ms, restored)

    def create_reader(self) -> FileTableReader:
        return FileTableReader(self.scan, self.row_type)


class FileTableEnumerator(SplitEnumerator):
    """The files of a table: as they are at the start, and with an interval the ones that come later.

    Args:
        list_files: The files as they are now, without those whose paths are given.
        restored: How many splits were handed out, and which files were in them.
    """

    def __init__(
        self,
        list_files: Callable[[Container[str]], Sequence[FileSplit]],
        parallelism: int,
        interval_ms: int | None = None,
        restored: Any = None,
    ) -> None:
        self._list_files = list_files
        self._parallelism = parallelism
        self._interval_ms = interval_ms
        count, known = restored or (0, b"")
        self._known = SeenFiles(known)
        self._started = restored is not None
        self._next_look_ms = 0
        self._count: int = count

    def discover(self) -> Sequence[SourceSplit]:
        now_ms = int(time.time() * 1000)
        if self._started and (self._interval_ms is None or now_ms < self._next_look_ms):
            return ()
        new = self._list_files(self._known)
        self._next_look_ms = now_ms + (self._interval_ms or 0)
        for file in new:
            self._known.add(file.file.path)
        first, self._started = not self._started, True
        if not first:
            return [self._split((file,)) for file in new]
        groups = [tuple(new[i :: self._parallelism]) for i in range(self._parallelism)]
        return [self._split(group) for group in groups if group]

    def _split(self, files: tuple[FileSplit, ...]) -> FilesSplit:
        self._count += 1
        return FilesSplit(f"files-{self._count}", files)

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit:
        return ReadLimit(split_ends=True)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return None if self._interval_ms is None else self._next_look_ms

    @property
    def no_more_splits(self) -> bool:
        return self._interval_ms is None and self._started

    @property
    def remembers_splits(self) -> bool:
        return True

    def snapshot(self) -> Any:
        return (self._count, self._known.snapshot()) if self._started else None


class FileTableReader(ArrowReader):
    """Reads splits, stopping after any row."""

    def __init__(self, scan: FileScan, row_type: RowType) -> None:
        self.row_type = row_type
        self._scan = scan
        self._blocks = BlockReader(scan, row_type)
        self._poison: Callable[[BadRecord], None] | None = None

    def open(self, context: ReaderContext) -> None:
        self._poison = context.poison
        if self._poison is not None:
            self._blocks = BlockReader(self._scan, self.row_type, keep_unreadable=True)

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert isinstance(split, FilesSplit)
        index, row, start = position or (0, 0, START)
        place, left = Place(*start), limit.max_records
        for file in split.files[index:]:
            for here, batch in self._blocks.read(file, place, row - place.row):
                taken = batch if left is None else batch.slice(0, left)
                self._bury(file, row, row + taken.num_rows)
                row, place = row + taken.num_rows, here
                yield ArrowBatch(taken, (index, row, place))
                if left is not None:
                    left -= taken.num_rows
                    if left <= 0:
                        return
            self._bury(file, row, None)
            index, row, place = index + 1, 0, START

    def _bury(self, file: FileSplit, start: int, end: int | None) -> None:
        """Tells of the unreadable records between these rows of the file, so that each epoch has its own.

        A block may be decoded further than an epoch reads, and is decoded again by the next one; a record counts with
        the row that comes after it, or with the end of the file.
        """
        if self._poison is None:
            return
        for row, (raw, line, error) in self._blocks.unreadable:
            if row >= start and (end is None or row < end):
                self._poison(BadRecord(raw, error, file.file.path, str(line)))
