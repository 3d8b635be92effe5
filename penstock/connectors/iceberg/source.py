"""Reading an Iceberg table: a split for each of its data files, which never change.

A snapshot is read once; or, with an interval, the newest one, and then the files that later ones add, for ever. A
stream of rows cannot take rows back, so a snapshot that removes some ends such a job.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowField, RowType
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.connectors.filesystem.columnar_types import in_table_type
from penstock.connectors.iceberg.lake import IcebergTable
from penstock.connectors.seen_files import SeenFiles
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceSplit,
    SplitEnumerator,
)
from penstock.formats.arrow_rows import arrow_type

__all__ = ["IcebergSource"]


@dataclass(frozen=True)
class IcebergFileSplit(SourceSplit):
    """A data file and the files that say which of its rows are gone: a task of pyiceberg's, as bytes."""

    task: bytes = b""
    schema_id: int = 0


@dataclass(frozen=True)
class IcebergSource(Source):
    """Reads the table as it is when the job starts, as it was, or as it grows.

    Attributes:
        wanted: The columns that are looked at; others are NULL.
        snapshot_id, as_of_ms: The snapshot, or the one of that time; None: the newest.
        interval_ms: How often to look for snapshots; None: the table is read once.
    """

    lake: IcebergTable
    row_type: RowType
    wanted: tuple[str, ...]
    snapshot_id: int | None = None
    as_of_ms: int | None = None
    interval_ms: int | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.interval_ms is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _Files(self, restored)

    def create_reader(self) -> ArrowReader:
        return _IcebergReader(self)


class _Files(SplitEnumerator):
    """Its state is the snapshot that was looked at last, and the files that were found."""

    def __init__(self, source: IcebergSource, restored: Any) -> None:
        self._source = source
        last, seen = restored if restored is not None else (None, b"")
        self._last: int | None = last
        self._seen = SeenFiles(seen)
        self._started = restored is not None
        self._next_look_ms = 0

    def discover(self) -> Sequence[SourceSplit]:
        source, now_ms = self._source, int(time.time() * 1000)
        if self._started and (source.interval_ms is None or now_ms < self._next_look_ms):
            return ()
        self._next_look_ms = now_ms + (source.interval_ms or 0)
        table = source.lake.opened()
        snapshot = self._snapshot(table)
        first, self._started = not self._started, True
        if snapshot is None or snapshot.snapshot_id == self._last:
            return ()
        if not first:
            self._check_only_added(table, snapshot)
        self._last = snapshot.snapshot_id
        with source.lake.explained("cannot read the table's metadata"):
            tasks = list(table.scan(snapshot_id=snapshot.snapshot_id).plan_files())
        new = [task for task in tasks if task.file.file_path not in self._seen]
        schema_id = snapshot.schema_id if snapshot.schema_id is not None else table.schema().schema_id
        return [self._split(task, schema_id) for task in new]

    def _snapshot(self, table: Any) -> Any:
        source = self._source
        if source.snapshot_id is not None:
            found = table.snapshot_by_id(source.snapshot_id)
        elif source.as_of_ms is not None:
            found = table.snapshot_as_of_timestamp(source.as_of_ms)
        else:
            return table.current_snapshot()
        if found is None:
            raise ValidationError("the table has no such snapshot", where=source.lake.where)
        return found

    def _check_only_added(self, table: Any, snapshot: Any) -> None:
        by_id = {s.snapshot_id: s for s in table.metadata.snapshots}
        while snapshot is not None and snapshot.snapshot_id != self._last:
            operation = str(getattr(snapshot.summary.operation, "value", snapshot.summary.operation))
            if operation != "append":
                error = ExternalSystemError(
                    f"snapshot {snapshot.snapshot_id} does not only add rows (its operation is '{operation}'), and a "
                    "stream of rows cannot take rows back",
                    where=self._source.lake.where,
                    do="read tables as a stream that are only added to, or read snapshots one by one",
                )
                error.retryable = False
                raise error
            snapshot = by_id.get(snapshot.parent_snapshot_id)

    def _split(self, task: Any, schema_id: int) -> IcebergFileSplit:
        self._seen.add(task.file.file_path)
        return IcebergFileSplit(task.file.file_path, pickle.dumps(task), schema_id)

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit:
        return ReadLimit(split_ends=True)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return None if self._source.interval_ms is None else self._next_look_ms

    @property
    def no_more_splits(self) -> bool:
        return self._source.interval_ms is None and self._started

    @property
    def remembers_splits(self) -> bool:
        return True

    def snapshot(self) -> Any:
        return (self._last, self._seen.snapshot()) if self._started else None


class _IcebergReader(ArrowReader):
    """Positions are numbers of rows of the file that are not gone."""

    def __init__(self, source: IcebergSource) -> None:
        fields = [RowField(f.name, f.data_type.nullable()) for f in source.row_type.fields]
        self.row_type = RowType(fields, nullable=False)
        self._source = source
        self._table: Any = None

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert isinstance(split, IcebergFileSplit)
        row, count, most, skip = position or 0, 0, limit.max_records, position or 0
        for batch in self._batches(split):
            rows = batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
            if most is not None:
                rows = rows.slice(0, most - count)
            if not rows.num_rows:
                continue
            row += rows.num_rows
            count += rows.num_rows
            yield ArrowBatch(self._columns(split, rows), row)
            if most is not None and count >= most:
                return

    def _batches(self, split: IcebergFileSplit) -> Iterator[pa.RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        if self._table is None:
            self._table = self._source.lake.opened()
        table = self._table
        with self._source.lake.explained(f"cannot read the file {split.split_id}"):
            schema = table.schemas().get(split.schema_id, table.schema())
            names = [n for n in self._source.wanted if n in schema.column_names] or schema.column_names[:1]
            scan = ArrowScan(table.metadata, table.io, schema.select(*names), AlwaysTrue(), True)
            yield from scan.to_record_batches([pickle.loads(split.task)])

    def _columns(self, split: IcebergFileSplit, rows: pa.RecordBatch) -> pa.RecordBatch:
        arrays, names = [], rows.schema.names
        for field in self.row_type.fields:
            wanted = arrow_type(field.data_type)
            there = field.name in names and field.name in self._source.wanted
            column = rows.column(field.name) if there else pa.nulls(rows.num_rows)
            try:
                arrays.append(in_table_type(column, wanted))
            except (ValueError, pa.ArrowException) as error:
                raise MalformedRecordError(
                    f"column '{field.name}' cannot be read as {field.data_type.as_summary()}: {error}",
                    where=f"{self._source.lake.where}, file {split.split_id}",
                    do="declare the column with the type that the table has",
                ) from None
        return pa.RecordBatch.from_arrays(arrays, names=self.row_type.names)
