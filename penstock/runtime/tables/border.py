"""Where a DataStream becomes a table and a table a DataStream: one operator on each side, no new job.

    elements ──ElementsToTable──▶ tables of changes ── SQL ──▶ tables ──TableToElements──▶ elements

Kinds of rows, event time and watermarks go through. A table's rows carry the watermark that was there before them,
so a watermark stands behind the border exactly where it stood before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import PenstockError, TypeMismatchError
from penstock.common.ids import MIN_TIMESTAMP
from penstock.delta.columns import HIDDEN, filled, millis, names, numbered
from penstock.formats.arrow_rows import ArrowToRows, RowsToArrow
from penstock.operators.base import Operator
from penstock.runtime.tables.base import SUBTASK_BITS, TableOperator

ToRow = Callable[[Any], tuple[tuple[Any, ...], int]]
"""From an element to the values of its columns and its kind (0 +I, 1 -U, 2 +U, 3 -D)."""

ToElement = Callable[[tuple[Any, ...], int], Any]
"""From the values of a row and its kind to an element."""


class ElementsToTable(Operator):
    """Elements as rows of a table.

    Args:
        to_row: Takes an element apart; values are plain Python, moments are naive datetimes in UTC.
        row_type: The columns, without the timestamp.
        with_timestamp: Whether the element's timestamp follows them as a column of TIMESTAMP_LTZ(3).
        required: For each column its name if the table declares it NOT NULL, which the elements' type does not.
    """

    def __init__(
        self,
        to_row: ToRow,
        row_type: RowType,
        with_timestamp: bool,
        required: Sequence[str | None] = (),
    ) -> None:
        self._required = [(i, name) for i, name in enumerate(required) if name is not None]
        self._to_row = to_row
        self._row_type = row_type
        self._with_timestamp = with_timestamp

    def open(self) -> None:
        self._to_arrow = RowsToArrow(self._row_type)

    def begin_epoch(self) -> None:
        self._position = self.context.subtask_index << SUBTASK_BITS

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        taken = [self._to_row(value) for value in values]
        try:
            batch = self._to_arrow.batch([row for row, _ in taken])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError) as error:
            raise TypeMismatchError(
                f"an element does not fit the columns of its table: {error}",
                where=f"operator '{self.context.name}', columns {self._row_type.as_summary()}",
                do="declare the stream's type and the table's schema so that they agree",
            ) from error
        columns = list(batch.columns)
        self._check_nulls(columns)
        if self._with_timestamp:
            columns.append(self._times(timestamps, len(values)))
        rows = len(values)
        hidden = [
            pa.array([kind for _, kind in taken], pa.int8()),
            filled(self.current_watermark, rows),
            numbered(self._position, rows),
        ]
        self._position += rows
        self.output.emit_table(pa.table([*columns, *hidden], names=names(len(columns))))

    def _check_nulls(self, columns: list[pa.Array]) -> None:
        for index, name in self._required:
            if columns[index].null_count:
                raise TypeMismatchError(
                    f"column '{name}' is declared NOT NULL, and an element has no value there",
                    where=f"operator '{self.context.name}'",
                    do="declare the column nullable, or filter such elements out of the stream",
                )

    def _times(self, timestamps: list[int] | None, rows: int) -> pa.Array:
        found = timestamps or [MIN_TIMESTAMP] * rows
        if MIN_TIMESTAMP in found:
            raise PenstockError(
                "an element has no timestamp, but the table's schema reads it as its row time",
                where=f"operator '{self.context.name}'",
                do="call assign_timestamps_and_watermarks(...) on the stream first",
            )
        micros = np.asarray(found, np.int64) * 1000
        return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


class TableToElements(TableOperator):
    """Rows of a table as elements.

    Args:
        to_element: Makes an element of a row.
        row_type: The columns.
        time_column: The column that is the row time and becomes the elements' timestamp, if there is one.
        leaves_out: Whether `to_element` gives None for rows that have no element.
    """

    def __init__(
        self, to_element: ToElement, row_type: RowType, time_column: int | None, leaves_out: bool = False
    ) -> None:
        self._leaves_out = leaves_out
        self._to_element = to_element
        self._row_type = row_type
        self._time_column = time_column

    def open(self) -> None:
        self._to_rows = ArrowToRows(self._row_type)

    def process_table(self, input_index: int, table: pa.Table) -> None:
        for batch in table.to_batches():
            self._emit_batch(batch)

    def _emit_batch(self, batch: pa.RecordBatch) -> None:
        width = batch.num_columns - len(HIDDEN)
        rows = self._to_rows.rows(batch.select(range(width))) if width else iter([()] * batch.num_rows)
        kinds = batch.column(width).to_pylist()
        values = [self._to_element(row, kind) for row, kind in zip(rows, kinds, strict=True)]
        times = self._times(batch)
        before = np.asarray(batch.column(width + 1))
        if self._leaves_out:
            kept = [i for i, value in enumerate(values) if value is not None]
            values, before = [values[i] for i in kept], before[kept]
            times = None if times is None else [times[i] for i in kept]
        for start, end in _runs(before):
            if self._time_column is not None and before[start] > self.current_watermark:
                self.current_watermark = int(before[start])
                self.output.emit_watermark(self.current_watermark)
            self.output.emit(values[start:end], None if times is None else times[start:end])

    def _times(self, batch: pa.RecordBatch) -> list[int] | None:
        if self._time_column is None:
            return None
        column = batch.column(self._time_column)
        if column.null_count:
            raise PenstockError(
                "the row time of a row is NULL, and it has to become the timestamp of an element",
                where=f"operator '{self.context.name}'",
                do="filter such rows out, or give the column a default",
            )
        found: list[int] = millis(column).tolist()
        return found


def _runs(values: Any) -> list[tuple[int, int]]:
    """Stretches of equal values."""
    if not len(values):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(cuts))
