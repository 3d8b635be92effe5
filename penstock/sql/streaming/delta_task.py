"""A stateful operator for one epoch, inside a Spark task: rows in, the operator, rows out, a delta of its state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.datatypes import RowType
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK, EpochId
from penstock.common.pickling import unship
from penstock.delta.base import Batch, DeltaContext, DeltaOperator
from penstock.delta.columns import in_type, names, numbered
from penstock.delta.local.base import LocalStage
from penstock.sql.connectors.spark_types import RowsToArrow
from penstock.sql.streaming.exchange_task import Marks
from penstock.sql.streaming.kept_states import KEPT, StateKey
from penstock.sql.streaming.physical import SUBTASK_BITS
from penstock.sql.streaming.row_reader import RowReader
from penstock.sql.streaming.task_report import Batches, TaskReport
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend

if TYPE_CHECKING:
    from penstock.state.keyed import StoredKeyedBackend


_BATCH_ROWS = 1 << 16
_SHAPE_COLUMNS = 5
"""Columns of the exchange's shape before those of the inputs (`exchange_task.py`)."""


@dataclass(frozen=True)
class DeltaTask:
    """One epoch of a stateful operator.

    Input columns: subtask, input index (-1: only tells the subtask), then kind, watermark and position, then
    the columns of each input one after the other.
    """

    uid: str
    operator: bytes
    input_types: tuple[RowType, ...]
    output_type: RowType
    parallelism: int
    max_parallelism: int
    restores: tuple[KeyedStateRestore, ...]
    epoch: EpochId
    processing_time_ms: int
    former_watermark: int
    watermark: int
    job_id: str
    backend: str
    local_dir: str
    storage: CheckpointStorage
    report: Any
    local: tuple[LocalStage | None, ...] = ()
    marks: Mapping[int, int] = field(default_factory=dict)
    """How many watermark marks come from each source, if they come at all."""

    def __call__(self, batches: Batches) -> Batches:
        started = time.thread_time()
        operator: DeltaOperator = unship(self.operator)
        marks = Marks(self.marks)
        if self.marks:
            batches = marks.taken_out(batches)
        subtask, tables = self._tables(batches)
        restore = self.restores[subtask]
        groups = (restore.first_key_group, restore.last_key_group)
        key = StateKey(self.job_id, self.uid, subtask, groups)
        with KEPT.using(key, lambda: self._open(key), last=self.watermark == MAX_WATERMARK) as state:
            snapshot = state.begin_epoch(restore, self.processing_time_ms)
            watermark = max(self.watermark, marks.watermark())
            context = self._run(operator, state, subtask, tables, watermark)
            wakeup = state.processing_timers.next_time()
            delta = state.end_epoch(self.epoch)
            handle = next_handle(restore, snapshot, self.epoch, delta)
        self.report.add(
            [
                TaskReport(
                    self.uid,
                    subtask,
                    keyed=handle,
                    records_in=sum(table.num_rows for table in tables if table is not None),
                    records_out=_count(operator),
                    metrics=context.metrics,
                    next_wakeup_ms=wakeup,
                    advanced=max(watermark, self.former_watermark),
                    busy_ms=(time.thread_time() - started) * 1000,
                )
            ]
        )
        to_arrow = RowsToArrow(self.output_type)
        yield from self._batches(operator.output, subtask, to_arrow)
        yield from self._numbered(operator, subtask, to_arrow.schema)

    def _tables(self, batches: Batches) -> tuple[int, list[pa.Table | None]]:
        """The subtask, and all rows of the epoch by input; None for an input without rows."""
        subtask = 0
        found: list[list[pa.RecordBatch]] = [[] for _ in self.input_types]
        mixed = len(self.input_types) > 1 or self.parallelism > 1
        for batch in batches:
            if batch.num_rows == 0:
                continue
            subtask = batch.column(0)[0].as_py()
            start = _SHAPE_COLUMNS
            for index, input_type in enumerate(self.input_types):
                width = len(input_type.fields)
                mine = batch.filter(pc.equal(batch.column(1), index)) if mixed else batch
                if mine.num_rows:
                    columns = mine.select([*range(start, start + width), 2, 3, 4])
                    found[index].append(columns.rename_columns(names(width)))
                start += width
        return subtask, [pa.Table.from_batches(part) if part else None for part in found]

    def _combined(self, index: int, table: pa.Table) -> pa.Table:
        """An input after its local stage has put together what several tasks sent."""
        local = self.local[index] if self.local else None
        return table if local is None else local.combine(table)

    def _rows(self, index: int, table: pa.Table) -> Batch:
        """An input's rows in arrival order."""
        found: list[tuple[int, int, int, tuple[Any, ...]]] = []
        reader, width = RowReader(self.input_types[index]), len(self.input_types[index].fields)
        for batch in table.to_batches():
            rows = reader.rows(batch.select(range(width))) if width else iter([()] * batch.num_rows)
            hidden = [batch.column(width + i).to_pylist() for i in (2, 0, 1)]
            found.extend(zip(*hidden, rows, strict=True))
        if self.parallelism > 1:
            found.sort(key=itemgetter(0))
        return Batch([r[3] for r in found], [r[1] for r in found], [r[2] for r in found])

    def _numbered(self, operator: DeltaOperator, subtask: int, schema: pa.Schema) -> Batches:
        """Output tables with their order of arrival, which is behind that of the output rows."""
        position = (subtask << SUBTASK_BITS) + len(operator.output)
        for table in operator.output_tables:
            for batch in table.to_batches(_BATCH_ROWS):
                columns = [*batch.columns[:-1], numbered(position, batch.num_rows)]
                yield pa.RecordBatch.from_arrays(list(map(in_type, columns, schema.types)), schema=schema)
                position += batch.num_rows

    def _open(self, key: StateKey) -> StoredKeyedBackend:
        return open_keyed_backend(
            self.backend,
            local_dir=self.local_dir,
            job_id=self.job_id,
            uid=self.uid,
            subtask=key.subtask,
            first_key_group=key.key_groups[0],
            last_key_group=key.key_groups[1],
            max_parallelism=self.max_parallelism,
            key_codec=compile_codec(None),
            storage=self.storage,
            file_prefix=f"shared/{self.uid}-{key.subtask}",
        )

    def _run(
        self,
        operator: DeltaOperator,
        state: StoredKeyedBackend,
        subtask: int,
        tables: list[pa.Table | None],
        watermark: int,
    ) -> DeltaContext:
        context = DeltaContext(
            state,
            subtask,
            self.parallelism,
            self.max_parallelism,
            self.processing_time_ms,
            self.former_watermark,
        )
        operator.open(context)
        operator.begin_epoch()
        for index, table in enumerate(tables):
            if table is None:
                continue
            rest = operator.take_columns(index, self._combined(index, table), watermark)
            if rest.num_rows:
                operator.process(index, self._rows(index, rest))
        if watermark > self.former_watermark:
            operator.advance(watermark)
            context.watermark = watermark
        operator.end_epoch()
        operator.close()
        return context

    def _batches(self, output: Batch, subtask: int, to_arrow: RowsToArrow) -> Batches:
        base = subtask << SUBTASK_BITS
        watermarks = output.watermarks or [MIN_WATERMARK] * len(output)
        hidden = zip(output.rows, output.kinds, watermarks, range(base, base + len(output)), strict=True)
        return to_arrow.batches((*row, kind, wm, pos) for row, kind, wm, pos in hidden)


def _count(operator: DeltaOperator) -> int:
    return len(operator.output) + sum(table.num_rows for table in operator.output_tables)
