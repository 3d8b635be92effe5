"""Brings the changes of a query to the program that asked: each is seen when its epoch is committed, and once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.errors import JobExecutionError, PenstockError
from penstock.common.types import Row, RowKind
from penstock.connectors.sink import ArrowWriter, Committer, Sink, SinkWriter, WriterContext
from penstock.sql.spark.values import row_reader

if TYPE_CHECKING:
    from penstock.runtime.running_job import RunningJob

_KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
_POLL_SECONDS = 0.05
_MOST_BYTES = 64 * 2**20
"""More than this is not kept for a program that reads slowly: the job waits for it, as a job of Flink's would."""


@dataclass(frozen=True)
class CollectedTable:
    """What one subtask wrote in one epoch."""

    epoch: int
    subtask_index: int
    table: Any


class Collected:
    """The committed changes that the program has not read yet."""

    def __init__(self, types: Sequence[DataType]) -> None:
        self._read = row_reader(types)
        self._width = len(types)
        self._tables: deque[Any] = deque()
        self._changed = threading.Condition()
        self._last_epoch = 0
        self._bytes = 0
        self._job: RunningJob | None = None

    def publish(self, found: Sequence[CollectedTable]) -> None:
        """Takes the changes of an epoch; a second commit of the same epoch changes nothing."""
        with self._changed:
            new = [c for c in found if c.epoch > self._last_epoch]
            self._tables.extend(c.table for c in sorted(new, key=lambda c: c.subtask_index))
            self._bytes += sum(c.table.nbytes for c in new)
            self._last_epoch = max([c.epoch for c in new], default=self._last_epoch)
            self._changed.notify_all()
            while self._bytes > _MOST_BYTES and self._is_read():
                self._changed.wait(_POLL_SECONDS)

    def _is_read(self) -> bool:
        """Whether somebody reads, and the job is wanted."""
        return self._job is not None and not self._job.coordinator.cancelled

    def rows(self, job: RunningJob) -> JobRows:
        """Rows until the job ends; leaving early cancels it."""
        self._job = job
        return JobRows(job, self._until_end(job))

    def _until_end(self, job: RunningJob) -> Iterator[Row]:
        ended = False
        try:
            while True:
                with self._changed:
                    if not self._tables and not ended:
                        self._changed.wait(_POLL_SECONDS)
                    table = self._tables.popleft() if self._tables else None
                    self._bytes -= 0 if table is None else table.nbytes
                    self._changed.notify_all()
                if table is not None:
                    yield from self._rows(table)
                elif ended:
                    break
                else:
                    ended = job.has_ended
            raise_failure(job)
        finally:
            if not job.has_ended:
                job.cancel()

    def _rows(self, table: Any) -> Iterator[Row]:
        kinds = table.column(self._width).to_pylist()
        for row, kind in zip(self._read(table.select(range(self._width))), kinds, strict=True):
            row.set_row_kind(_KINDS[kind])
            yield row


class JobRows(Iterator[Row]):
    """The rows of a query, and the job that makes them: whoever waits in another thread can cancel it."""

    def __init__(self, job: RunningJob, rows: Iterator[Row]) -> None:
        self.job = job
        self._rows = rows

    def __next__(self) -> Row:
        return next(self._rows)

    def close(self) -> None:
        """Leaves the rows, which cancels the job if it runs; only for the thread that reads them."""
        self._rows.close()  # type: ignore[attr-defined]
        if not self.job.has_ended:  # nobody had begun to read
            self.job.cancel()


class CollectTableSink(Sink):
    """The end of a query whose changes the program reads; `collected` stays in the driver."""

    def __init__(self, collected: Collected | None) -> None:
        self.collected = collected

    def __reduce__(self) -> tuple[Any, ...]:
        return CollectTableSink, (None,)

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        return _Writer(context)

    def create_committer(self) -> Committer:
        assert self.collected is not None
        return _Committer(self.collected)


class _Writer(ArrowWriter):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._tables: list[pa.Table] = []

    def write_arrow(self, table: pa.Table) -> None:
        self._tables.append(table)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if not self._tables:
            return ()
        context = self._context
        table = pa.concat_tables(self._tables).combine_chunks()
        return (CollectedTable(int(context.epoch), context.subtask_index, table),)


class _Committer(Committer):
    repeats_harmlessly = True  # the program that has taken the rows is gone with its driver

    def __init__(self, collected: Collected) -> None:
        self._collected = collected

    def commit(self, committables: Sequence[Any]) -> None:
        self._collected.publish(committables)


def raise_failure(job: RunningJob, timeout_ms: int | None = None) -> None:
    """Waits for the end of the job; its own error is what the user should see."""
    try:
        job.wait(None if timeout_ms is None else timeout_ms / 1000)
    except JobExecutionError as error:
        if isinstance(error.__cause__, PenstockError):
            raise error.__cause__ from None
        raise
