"""Reads a connector in columns: the first operator of a table.

Rows get their hidden columns here: the kind that the connector gave or +I, no watermark yet, and their place in the
order of arrival. A reader that only knows elements is read through Arrow conversion. Where the operator that makes
watermarks tells splits apart (`split_watermark.py`), rows carry the tag of their split in the watermark's column.

A batch is emitted in portions that are as small as the functions behind it are slow (`operators/time_box.py`): a
query may call a Python function that takes a second for each row. What there was no time for waits in the operator's
state, as Arrow bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.common.ids import MIN_WATERMARK
from penstock.connectors.rows import read_columns
from penstock.connectors.source import ReadLimit, SourceReader, SourceSplit
from penstock.delta.columns import KIND, filled, names, numbered
from penstock.operators.source import SourceOperator
from penstock.runtime.tables.base import SUBTASK_BITS
from penstock.runtime.tables.parcels import from_bytes, to_bytes
from penstock.runtime.tables.split_watermark import split_tag


class TableSourceOperator(SourceOperator):
    """Drives a reader whose rows are columns of `row_type`, followed by the kind where the source gives changes."""

    def __init__(
        self,
        reader: SourceReader,
        row_type: RowType,
        changelog: bool,
        bounded: bool,
        tags_splits: bool = False,
    ) -> None:
        super().__init__(reader, None, bounded)
        self._tags_splits = tags_splits
        fields = list(row_type.fields)
        if changelog:
            fields.append(RowField(KIND, DataTypes.TINYINT(False)))
        self._width = len(row_type.fields)
        self._columns = RowType(fields, nullable=False)
        self._position = 0

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._position = self.context.subtask_index << SUBTASK_BITS

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[tuple[Any, int, bool]]:
        """Reads one split and emits; yields (position, records so far, finished) after every batch."""
        count = 0
        if self._waiting:
            return
        for found in read_columns(self._reader, self._columns, split, position, limit):
            self._emit_rows_in_time(split.split_id, found.batch)
            count += found.batch.num_rows
            position = found.position
            if found.may_stop:
                yield position, count, False
                if self._enough(limit, count):
                    return
        finished = self._bounded if limit.split_ends is None else limit.split_ends
        yield position, count, finished and not self._waiting

    def emit_waiting(self) -> Iterator[None]:
        """Emits what the epoch before had no time for, as far as there is time now."""
        waiting, self._waiting = self._waiting, []
        for split_id, rows, _ in waiting:
            self._emit_rows_in_time(split_id, rows)
            yield

    @property
    def waiting(self) -> int:
        """How many rows were read and not emitted."""
        return sum(rows.num_rows for _, rows, _ in self._waiting)

    def _emit_rows_in_time(self, split_id: str, batch: pa.RecordBatch) -> None:
        tagged = self._tags_splits and not self.context.batch_mode
        mark = split_tag(split_id) if tagged else MIN_WATERMARK
        sent, total = 0, batch.num_rows
        while sent < total:
            size = 0 if self._waiting else self._box.portion(total - sent)
            if size == 0:
                self._waiting.append((split_id, batch.slice(sent), None))
                return
            self.output.emit_table(self._with_hidden(batch.slice(sent, size), mark))
            sent += size

    def snapshot(self) -> Any:
        waiting = [
            (split_id, to_bytes(pa.Table.from_batches([rows])), None) for split_id, rows, _ in self._waiting
        ]
        return {**super().snapshot(), "waiting": waiting}

    def restore(self, states: Sequence[Any]) -> None:
        super().restore(states)
        self._waiting = [
            (split_id, batch, None)
            for split_id, data, _ in self._waiting
            for batch in from_bytes(data).to_batches()
        ]

    def _with_hidden(self, batch: pa.RecordBatch, mark: int) -> pa.Table:
        rows, width = batch.num_rows, self._width
        kind = batch.column(width) if batch.num_columns > width else filled(0, rows, "int8")
        columns = [*batch.columns[:width], kind, filled(mark, rows), numbered(self._position, rows)]
        self._position += rows
        return pa.table(columns, names=names(width))
