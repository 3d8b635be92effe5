"""What the stages of a streaming query do inside Spark tasks.

Each stage is a function from record batches to record batches for `mapInArrow`, made in the driver for one
epoch. What a stage learns (positions, watermarks, state handles) goes into an accumulator as `TaskReport`s. A
task that Spark runs twice reports twice; both reports describe the same committed input, so either will do.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.checkpoint.handles import KeyedStateHandle
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.datatypes import LocalZonedTimestampType, RowField, RowType, TimestampType
from penstock.common.errors import MalformedRecordError
from penstock.common.ids import MIN_WATERMARK, EpochId
from penstock.common.key_groups import key_group_range, subtask_for_key
from penstock.delta.base import Batch, DeltaContext, DeltaOperator
from penstock.runtime.plan import SplitProgress, SplitRead
from penstock.sql.connectors.spark_types import ArrowToRows, RowsToArrow
from penstock.sql.streaming.physical import HIDDEN, SUBTASK_BITS
from penstock.sql.streaming.scan_source import PartReader, PartSplit
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend

if TYPE_CHECKING:
    from penstock.state.keyed import StoredKeyedBackend

Batches = Iterator[pa.RecordBatch]
Stage = Callable[[Batches], Batches]


@dataclass
class TaskReport:
    """What one subtask of a node has to say about an epoch."""

    uid: str
    subtask: int
    splits: tuple[SplitProgress, ...] = ()
    keyed: KeyedStateHandle | None = None
    watermark: int | None = None
    records_in: int = 0
    records_out: int = 0
    metrics: dict[str, int] = field(default_factory=dict)
    next_wakeup_ms: int | None = None


class RowReader:
    """Record batches to rows of plain Python values; both kinds of timestamps are naive (UTC)."""

    def __init__(self, row_type: RowType) -> None:
        self._zoned = [
            i for i, f in enumerate(row_type.fields) if isinstance(f.data_type, LocalZonedTimestampType)
        ]
        plain = [
            RowField(f.name, TimestampType(6) if i in self._zoned else f.data_type)
            for i, f in enumerate(row_type.fields)
        ]
        self._to_rows = ArrowToRows(RowType(plain, nullable=False))

    def rows(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        for i in self._zoned:
            column = batch.column(i).cast(pa.timestamp("us"))
            batch = batch.set_column(i, batch.schema.field(i).name, column)
        return self._to_rows.rows(batch)


# --- scan -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanTask:
    """Reads the epoch's share of every subtask's splits; input rows are subtask numbers."""

    uid: str
    reader: PartReader
    row_type: RowType
    reads: Mapping[int, Sequence[SplitRead]]
    report: Any

    def __call__(self, batches: Batches) -> Batches:
        to_arrow = RowsToArrow(self.row_type)
        for batch in batches:
            for subtask in batch.column(0).to_pylist():
                yield from to_arrow.batches(self._rows(subtask))

    def _rows(self, subtask: int) -> Iterator[tuple[Any, ...]]:
        position_base = subtask << SUBTASK_BITS
        done, number = [], 0
        for read in self.reads.get(subtask, ()):
            split, limit = read.split, read.limit
            assert isinstance(split, PartSplit)
            part_index, row_index = read.position or (0, 0)
            count, left = 0, limit.max_records
            while part_index < len(split.parts) and left != count:
                for row in self.reader.rows(split.parts[part_index], row_index):
                    yield (*row, MIN_WATERMARK, position_base + number)
                    number, count, row_index = number + 1, count + 1, row_index + 1
                    if count == left:
                        break
                else:
                    part_index, row_index = part_index + 1, 0
            finished = part_index >= len(split.parts) and limit.split_ends is not False
            done.append(SplitProgress(split.split_id, (part_index, row_index), finished, count))
        self.report.add([TaskReport(self.uid, subtask, splits=tuple(done), records_out=number)])


# --- watermarks -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WatermarkTask:
    """Follows the watermark of each source subtask and notes it beside every row.

    The input's last two visible columns are the row time and the watermark expression in milliseconds. As in
    Flink's assigner, a watermark is emitted when it has moved by more than the interval, so that lateness is
    decided row by row and not by where an epoch ends.
    """

    uid: str
    width: int
    interval_ms: int
    former: Mapping[int, tuple[int, int]]
    report: Any

    def __call__(self, batches: Batches) -> Batches:
        states: dict[int, tuple[int, int]] = {}
        for batch in batches:
            yield self._follow(batch, states)
        for subtask, state in states.items():
            self.report.add(
                [TaskReport(self.uid, subtask, watermark=state[1], metrics={"current": state[0]})]
            )

    def _follow(self, batch: pa.RecordBatch, states: dict[int, tuple[int, int]]) -> pa.RecordBatch:
        width = self.width
        times = _millis(batch.column(width))
        expressions = _millis(batch.column(width + 1))
        positions = batch.column(width + 4).to_pylist()
        before = []
        for time_ms, expression, position in zip(times, expressions, positions, strict=True):
            subtask = position >> SUBTASK_BITS
            if time_ms is None:
                raise MalformedRecordError(
                    "the row time of a record is null",
                    do="a column with a watermark must not be null: filter such rows or change the expression",
                )
            state = states.get(subtask)
            if state is None:
                state = self.former.get(subtask, (MIN_WATERMARK, MIN_WATERMARK))
            before.append(state[1])
            states[subtask] = self._after(state, expression)
        columns = [*batch.columns[:width], batch.column(width + 2), pa.array(before, pa.int64())]
        columns.append(batch.column(width + 4))
        names = [f"c{i}" for i in range(width)] + [f.name for f in HIDDEN]
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _after(self, state: tuple[int, int], expression: int | None) -> tuple[int, int]:
        """(highest seen, last emitted) after a row."""
        current, emitted = state
        if expression is None or expression <= current:
            return state
        if emitted == MIN_WATERMARK or expression - emitted > self.interval_ms:
            return expression, expression
        return expression, emitted


def _millis(column: pa.Array) -> list[int | None]:
    """Microseconds of a timestamp column, rounded down to milliseconds."""
    micros = column.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    return [None if value is None else value // 1000 for value in micros]


# --- deltas -----------------------------------------------------------------------------------------------


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

    def __call__(self, batches: Batches) -> Batches:
        subtask, inputs, count = self._read(batches)
        operator: DeltaOperator = pickle.loads(self.operator)
        state = self._open(subtask)
        restore = self.restores[subtask]
        try:
            snapshot = state.begin_epoch(restore, self.processing_time_ms)
            output, context = self._run(operator, state, subtask, inputs)
            wakeup = state.processing_timers.next_time()
            delta = state.end_epoch(self.epoch)
            handle = next_handle(restore, snapshot, self.epoch, delta)
        finally:
            state.close()
        self.report.add(
            [
                TaskReport(
                    self.uid,
                    subtask,
                    keyed=handle,
                    records_in=count,
                    records_out=len(output),
                    metrics=context.metrics,
                    next_wakeup_ms=wakeup,
                )
            ]
        )
        yield from self._batches(output, subtask)

    def _read(self, batches: Batches) -> tuple[int, list[Batch], int]:
        """All rows of the epoch, by input, in arrival order."""
        subtask, count = 0, 0
        found: list[list[tuple[int, int, int, tuple[Any, ...]]]] = [[] for _ in self.input_types]
        readers = [RowReader(t) for t in self.input_types]
        mixed = len(self.input_types) > 1 or self.parallelism > 1
        for batch in batches:
            if batch.num_rows == 0:
                continue
            subtask = batch.column(0)[0].as_py()
            tags = batch.column(1)
            start = 5
            for index, input_type in enumerate(self.input_types):
                width = len(input_type.fields)
                mine = batch.filter(pc.equal(tags, index)) if mixed else batch
                columns = mine.select(range(start, start + width))
                rows = readers[index].rows(columns) if width else iter([()] * mine.num_rows)
                hidden = [mine.column(i).to_pylist() for i in (4, 2, 3)]
                found[index].extend(zip(*hidden, rows, strict=True))
                count += mine.num_rows
                start += width
        return subtask, [self._in_order(rows) for rows in found], count

    def _in_order(self, rows: list[tuple[int, int, int, tuple[Any, ...]]]) -> Batch:
        if self.parallelism > 1:
            rows.sort(key=lambda row: row[0])
        return Batch([r[3] for r in rows], [r[1] for r in rows], [r[2] for r in rows])

    def _open(self, subtask: int) -> StoredKeyedBackend:
        groups = key_group_range(subtask, self.max_parallelism, self.parallelism)
        return open_keyed_backend(
            self.backend,
            local_dir=self.local_dir,
            job_id=self.job_id,
            uid=self.uid,
            subtask=subtask,
            first_key_group=groups[0],
            last_key_group=groups[-1],
            max_parallelism=self.max_parallelism,
            key_codec=compile_codec(None),
            storage=self.storage,
            file_prefix=f"shared/{self.uid}-{subtask}",
        )

    def _run(
        self, operator: DeltaOperator, state: StoredKeyedBackend, subtask: int, inputs: list[Batch]
    ) -> tuple[Batch, DeltaContext]:
        context = DeltaContext(
            state,
            subtask,
            self.parallelism,
            self.processing_time_ms,
            self.former_watermark,
        )
        operator.open(context)
        operator.begin_epoch()
        for index, batch in enumerate(inputs):
            if batch.rows:
                operator.process(index, batch)
        if self.watermark > self.former_watermark:
            operator.advance(self.watermark)
            context.watermark = self.watermark
        operator.end_epoch()
        operator.close()
        return operator.output, context

    def _batches(self, output: Batch, subtask: int) -> Batches:
        to_arrow = RowsToArrow(self.output_type)
        base = subtask << SUBTASK_BITS
        watermarks = output.watermarks or [MIN_WATERMARK] * len(output)
        hidden = zip(output.rows, output.kinds, watermarks, range(base, base + len(output)), strict=True)
        return to_arrow.batches((*row, kind, wm, pos) for row, kind, wm, pos in hidden)


@dataclass(frozen=True)
class RouteTask:
    """Writes into the first column which subtask owns a row's key, as the keyed backend will see it."""

    columns: tuple[int, ...]
    key_type: RowType
    max_parallelism: int
    parallelism: int

    def __call__(self, batches: Batches) -> Batches:
        encode, reader = compile_codec(None).encode_key, RowReader(self.key_type)
        for batch in batches:
            keys = reader.rows(batch.select(self.columns))
            subtasks = [
                subtask_for_key(encode(tuple(key)), self.max_parallelism, self.parallelism) for key in keys
            ]
            yield batch.set_column(0, batch.schema.field(0).name, pa.array(subtasks, pa.int32()))
