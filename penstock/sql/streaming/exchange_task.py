"""The stage before an exchange: local work, whose row is whose, and the shape that all inputs of an operator share.

    __subtask  __input  __kind  __wm  __pos  | columns of input 0 | columns of input 1 | ...

A row has NULLs in the columns of the other inputs. Which subtask owns a key is computed once per distinct key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.codecs import compile_codec
from penstock.common.datatypes import RowType
from penstock.common.ids import MIN_WATERMARK
from penstock.common.key_groups import subtask_for_key
from penstock.delta.columns import HIDDEN, filled, in_type, names
from penstock.delta.local.base import LocalStage
from penstock.sql.connectors.spark_types import arrow_type
from penstock.sql.streaming.row_reader import RowReader
from penstock.sql.streaming.scan_task import ScanTask
from penstock.sql.streaming.task_report import Batches
from penstock.sql.streaming.watermark_task import WatermarkTask

LOCAL_ROWS = 1 << 20
"""How many rows a local stage sees at once: the more, the more it can put together."""
_BATCH_ROWS = 1 << 16
MARK = -2


@dataclass(frozen=True)
class Select:
    """Some columns, in another order."""

    columns: tuple[int, ...]

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            yield batch.select(list(self.columns))


@dataclass(frozen=True)
class LocalTask:
    """Runs a local stage over large pieces of the epoch."""

    stage: LocalStage

    def __call__(self, batches: Batches) -> Batches:
        for table in _pieces(batches):
            yield from self.stage(table).to_batches(_BATCH_ROWS)


def _pieces(batches: Batches) -> Iterator[pa.Table]:
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch.rename_columns(names(batch.num_columns - len(HIDDEN))))
            rows += batch.num_rows
        if rows >= LOCAL_ROWS:
            yield pa.Table.from_batches(pending)
            pending, rows = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


@dataclass(frozen=True)
class ShapeTask:
    """Puts rows of one input into the shared shape; `input_types` are the columns of all inputs."""

    index: int
    input_types: tuple[RowType, ...]
    key_columns: tuple[int, ...]
    max_parallelism: int
    parallelism: int

    def __call__(self, batches: Batches) -> Batches:
        width = len(self.input_types[self.index].fields)
        types = [[arrow_type(f.data_type) for f in t.fields] for t in self.input_types]
        owner = _Owner(self)
        for batch in batches:
            rows = batch.num_rows
            if not rows:
                continue
            columns = [owner.subtasks(batch), filled(self.index, rows, np.int32)]
            columns += [batch.column(width + i) for i in range(len(HIDDEN))]
            for at, fields in enumerate(types):
                for i, data_type in enumerate(fields):
                    mine = (
                        in_type(batch.column(i), data_type) if at == self.index else pa.nulls(rows, data_type)
                    )
                    columns.append(mine)
            yield pa.RecordBatch.from_arrays(columns, names=shape_names(self.input_types))


@dataclass(frozen=True)
class MarkTask:
    """Behind a scan's rows tells every subtask of the operator how far the scan's watermark has come.

    A mark is a row with MARK as its input: the watermark, whether there is one, and the number of its source. With
    the marks of all its sources an operator can advance in the epoch that moved the watermark; windows that begin
    and end within an epoch then never reach the store.
    """

    scan: ScanTask
    watermark: WatermarkTask
    source: int
    input_types: tuple[RowType, ...]
    parallelism: int

    def __call__(self, batches: Batches) -> Batches:
        yield from batches
        types = [arrow_type(f.data_type) for t in self.input_types for f in t.fields]
        for subtask in self.scan.subtasks:
            state = self.watermark.states.get(subtask) or self.watermark.former.get(subtask)
            rows = self.parallelism
            columns = [
                pa.array(np.arange(rows, dtype=np.int32)),
                filled(MARK, rows, np.int32),
                filled(state is not None, rows, np.int8),
                filled(state[1] if state else MIN_WATERMARK, rows),
                filled(self.source, rows),
            ]
            columns += [pa.nulls(rows, data_type) for data_type in types]
            yield pa.RecordBatch.from_arrays(columns, names=shape_names(self.input_types))


class Marks:
    """The marks of an epoch as they reach an operator; `expected` says how many there are of each source."""

    def __init__(self, expected: Mapping[int, int]) -> None:
        self._expected = expected
        self._found: dict[int, list[tuple[int, int]]] = {}

    def taken_out(self, batches: Batches) -> Batches:
        """The rows without the marks, which are remembered."""
        for batch in batches:
            is_mark = pc.equal(batch.column(1), MARK)
            if not pc.any(is_mark).as_py():
                yield batch
                continue
            marks = batch.filter(is_mark)
            for kind, watermark, source in zip(
                *(marks.column(i).to_pylist() for i in (2, 3, 4)), strict=True
            ):
                self._found.setdefault(source, []).append((kind, watermark))
            yield batch.filter(pc.invert(is_mark))

    def watermark(self) -> int:
        """The least watermark of all sources; none before each has one and all its subtasks have spoken."""
        lowest = []
        for source, count in self._expected.items():
            found = self._found.get(source, [])
            known = [watermark for kind, watermark in found if kind]
            if len(found) != count or not known:
                return MIN_WATERMARK
            lowest.append(min(known))
        return min(lowest, default=MIN_WATERMARK)


def shape_names(input_types: tuple[RowType, ...]) -> list[str]:
    columns = [f"i{at}_{i}" for at, t in enumerate(input_types) for i in range(len(t.fields))]
    return ["__subtask", "__input", *HIDDEN, *columns]


class _Owner:
    """Which subtask owns a row's key, as the keyed backend will see it."""

    def __init__(self, task: ShapeTask) -> None:
        self._task = task
        fields = task.input_types[task.index].fields
        self._reader = RowReader(RowType([fields[k] for k in task.key_columns], nullable=False))
        self._encode = compile_codec(None).encode_key
        self._known: dict[Any, int] = {}

    def subtasks(self, batch: pa.RecordBatch) -> pa.Array:
        task = self._task
        if task.parallelism == 1:
            return filled(0, batch.num_rows, np.int32)
        keys = batch.select(list(task.key_columns))
        if keys.num_columns == 1 and not pa.types.is_nested(keys.column(0).type):
            codes = keys.column(0).dictionary_encode(null_encoding="encode")
            distinct = pa.RecordBatch.from_arrays([codes.dictionary], names=["k"])
            owners = np.array(self._owners(distinct), np.int32)
            return pa.array(owners[np.asarray(codes.indices)])
        return pa.array(self._owners(keys), pa.int32())

    def _owners(self, keys: pa.RecordBatch) -> list[int]:
        task, encode = self._task, self._encode
        return [
            subtask_for_key(encode(key), task.max_parallelism, task.parallelism)
            for key in self._reader.rows(keys)
        ]
