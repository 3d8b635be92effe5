"""The tasks' side of a capture: chunks at their mark, and the log without what chunks show already.

What becomes of a change is a `Conversion`: rows for a table, records for a program.

    change of a row in the log          its images are judged one by one, for a key may move from chunk to chunk
      before-image not shown by its chunk's mark, after-image not shown    as it is
      only the after-image                                                 the row is new
      only the before-image                                                the row is gone
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.cdc.database import Work
from penstock.connectors.cdc.enumerator import Capture, CdcEnumerator
from penstock.connectors.cdc.model import (
    CREATE,
    DELETE,
    READ,
    TRUNCATE,
    CapturedTable,
    Change,
    LogPlan,
    LogPosition,
    LogSplit,
    SharePlan,
    SharePosition,
    ShareSplit,
    TableMarks,
    Values,
)
from penstock.connectors.source import (
    START,
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
)

LOG = logging.getLogger(__name__)


class Conversion(ABC):
    """What changes become; picklable."""

    @abstractmethod
    def open(self, tables: Sequence[CapturedTable], where: str) -> None:
        """Called in a task before the first change."""

    @abstractmethod
    def convert(self, changes: Sequence[Change]) -> list[Any]:
        """The records of some changes, in order."""


class CdcSource(Source):
    """A capture as a source of a program or a table."""

    def __init__(self, capture: Capture, conversion: Conversion, type_info: Any = None) -> None:
        self.capture = capture
        self.conversion = conversion
        self._type_info = type_info

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.capture.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> CdcEnumerator:
        return CdcEnumerator(self.capture, context.parallelism, restored)

    def create_reader(self) -> CdcReader:
        return CdcReader(self.capture, self.conversion)

    def produced_type(self) -> Any:
        return self._type_info


class CdcReader(SourceReader):
    """Reads shares and the log."""

    def __init__(self, capture: Capture, conversion: Conversion) -> None:
        self._database = capture.database
        self._skipped = capture.skipped
        self._conversion = conversion
        self._subtask = 0
        self._work: Work | None = None
        self._tables: tuple[CapturedTable, ...] | None = None

    def open(self, context: ReaderContext) -> None:
        self._subtask = context.subtask_index

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, (ShareSplit, LogSplit))
        if self._work is None:
            self._work = self._database.work(split.source_id, self._subtask)
        if self._tables != split.tables:
            self._tables = split.tables
            self._conversion.open(split.tables, self._database.where)
        if isinstance(split, ShareSplit):
            return self._share(self._work, split, limit)
        return self._log(self._work, split, position or LogPosition(split.start), limit)

    def _share(self, work: Work, split: ShareSplit, limit: ReadLimit) -> Iterator[SourceBatch]:
        plan = limit.payload
        assert isinstance(plan, SharePlan)
        if plan.mark is None:
            return
        done: tuple[int, ...] = ()
        for chunk, rows, complete in work.chunks(split.tables, plan.chunks, plan.mark):
            records = self._conversion.convert([Change(chunk.table, READ, None, row) for row in rows])
            if complete:
                done = (*done, chunk.id)
            position = SharePosition(done, plan.mark.kept()) if done else START
            yield SourceBatch(records, None, position, may_stop=complete)

    def _log(
        self, work: Work, split: LogSplit, position: LogPosition, limit: ReadLimit
    ) -> Iterator[SourceBatch]:
        plan = limit.payload
        assert isinstance(plan, LogPlan)
        quiet = position.quiet + 1
        for changes, after in work.changes(split.tables, position, limit.end_position, plan.confirmed):
            if plan.marks:
                changes = not_shown(work, split.tables, changes, plan.marks)
            records = self._conversion.convert(self._without_skipped(split.tables, changes))
            quiet = 0 if records else quiet
            yield SourceBatch(records, None, replace(after, quiet=quiet))

    def _without_skipped(self, tables: Sequence[CapturedTable], changes: Sequence[Change]) -> list[Change]:
        for change in changes:
            if change.op == TRUNCATE:
                self._truncated(f"table {tables[change.table].name} of {self._database.where}")
        return [c for c in changes if c.op not in self._skipped]

    def _truncated(self, where: str) -> None:
        if TRUNCATE in self._skipped:
            LOG.warning(
                "TRUNCATE is passed over, as Debezium does: rows stay where they were read; %s", where
            )
            return
        error = ExternalSystemError(
            "the table was truncated, and the log does not tell which rows are gone",
            where=where,
            do="start again without the checkpoint, or set 'debezium.skipped.operations' = 't' to keep the rows",
        )
        error.retryable = False
        raise error

    def close(self) -> None:
        if self._work is not None:
            self._work.close()
            self._work = None


def not_shown(
    work: Work, tables: Sequence[CapturedTable], changes: Sequence[Change], marks: dict[int, TableMarks]
) -> list[Change]:
    """What is left of changes when rows of the snapshot are already as their marks show them."""
    shown: list[tuple[bool, bool]] = [(False, False)] * len(changes)
    for number, table_marks in marks.items():
        mine = [i for i, c in enumerate(changes) if c.table == number and c.op != TRUNCATE]
        before = _shown(work, tables[number], table_marks, [(changes[i], _old(changes[i])) for i in mine])
        after = _shown(work, tables[number], table_marks, [(changes[i], changes[i].after) for i in mine])
        for i, flags in zip(mine, zip(before, after, strict=True), strict=True):
            shown[i] = flags
    left = (_left(change, *flags) for change, flags in zip(changes, shown, strict=True))
    return [change for change in left if change is not None]


def _old(change: Change) -> Values | None:
    """The image that tells the key before; a log leaves it out where the key is the same."""
    return change.before if change.before is not None or change.op == CREATE else change.after


def _shown(
    work: Work, table: CapturedTable, marks: TableMarks, images: Sequence[tuple[Change, Values | None]]
) -> list[bool]:
    at = table.chunk_key
    if at is None or not marks.bounds:
        return [marks.marks[0].shows(change) for change, _ in images]
    keys = [None if image is None else image[at] for _, image in images]
    places = work.locate(table, keys, marks.bounds)
    return [marks.marks[place].shows(change) for (change, _), place in zip(images, places, strict=True)]


def _left(change: Change, before_shown: bool, after_shown: bool) -> Change | None:
    gone = change.op == CREATE or before_shown
    stays = change.op == DELETE or after_shown
    if gone and stays:
        return None
    if change.op in (CREATE, DELETE, TRUNCATE) or not (before_shown or after_shown):
        return change
    if before_shown:
        return Change(
            change.table, CREATE, None, change.after, change.ts_ms, change.place, change.transaction
        )
    old = _old(change)
    key_only = change.key_only or change.before is None
    return Change(change.table, DELETE, old, None, change.ts_ms, change.place, change.transaction, key_only)
