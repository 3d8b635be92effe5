"""Reading: the first stage of every streaming query, inside a Spark task.

Its input rows are the numbers of the subtasks a task stands for. Rows come with the hidden columns: kind, no
watermark yet, and their place in the order of arrival.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.common.ids import MIN_WATERMARK
from penstock.delta.columns import filled, names, numbered
from penstock.runtime.plan import SplitProgress, SplitRead
from penstock.sql.connectors.filesystem.blocks import START, Place
from penstock.sql.streaming.physical import SUBTASK_BITS
from penstock.sql.streaming.scan_source import PartReader, PartSplit, Read
from penstock.sql.streaming.task_report import Batches, TaskReport


@dataclass(frozen=True)
class ScanTask:
    """Reads the epoch's share of every subtask's splits."""

    uid: str
    reader: PartReader
    reads: Mapping[int, Sequence[SplitRead]]
    report: Any
    subtasks: list[int] = field(default_factory=list)
    """Which subtasks this task stood for, once it has run."""

    def __call__(self, batches: Batches) -> Batches:
        read = self.reader.opened()
        for batch in batches:
            for subtask in batch.column(0).to_pylist():
                self.subtasks.append(subtask)
                yield from self._subtask(subtask, read)

    def _subtask(self, subtask: int, read: Read) -> Batches:
        started, done, position = time.thread_time(), [], subtask << SUBTASK_BITS
        for wanted in self.reads.get(subtask, ()):
            progress = _Progress(wanted)
            for batch in _split(progress, read):
                yield _with_hidden(batch, position)
                position += batch.num_rows
            done.append(progress.report())
        number = position - (subtask << SUBTASK_BITS)
        busy_ms = (time.thread_time() - started) * 1000
        report = TaskReport(self.uid, subtask, splits=tuple(done), records_out=number, busy_ms=busy_ms)
        self.report.add([report])


def _split(progress: _Progress, read: Read) -> Batches:
    """Columns of the table and the kind; `progress` follows what is handed out."""
    while (part := progress.part()) is not None:
        skip = progress.row - progress.place.row
        for place, batch in read(part, progress.place, skip, progress.left):
            taken = batch if progress.left is None else batch.slice(0, progress.left)
            progress.took(taken.num_rows, place)
            if taken.num_rows:
                yield taken
            if progress.left == 0:
                break
        else:
            progress.next_part()


class _Progress:
    """How far an epoch has read into a split."""

    def __init__(self, read: SplitRead) -> None:
        assert isinstance(read.split, PartSplit)
        self._split = read.split
        self._ends = read.limit.split_ends is not False
        self._index: int
        self.row: int
        self._index, self.row, *place = read.position or (0, 0)
        self.place = Place(*place[0]) if place else START
        self._left = read.limit.max_records
        self._count = 0

    def part(self) -> Any:
        """The part to go on with; None when there is none, or the epoch has enough."""
        if self._index >= len(self._split.parts) or self._left == 0:
            return None
        return self._split.parts[self._index]

    @property
    def left(self) -> int | None:
        """How many rows of the part the epoch still wants; None, if it takes all there are."""
        return None if self._split.whole else self._left

    def took(self, rows: int, place: Place) -> None:
        self.row += rows
        self.place = place
        self._count += rows
        if self._left is not None:
            self._left = max(0, self._left - rows)

    def next_part(self) -> None:
        self._index, self.row, self.place = self._index + 1, 0, START

    def report(self) -> SplitProgress:
        finished = self._index >= len(self._split.parts) and self._ends
        return SplitProgress(
            self._split.split_id, (self._index, self.row, tuple(self.place)), finished, self._count
        )


def _with_hidden(batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
    rows = batch.num_rows
    columns = [*batch.columns, filled(MIN_WATERMARK, rows), numbered(position, rows)]
    return pa.RecordBatch.from_arrays(columns, names=names(batch.num_columns - 1))
