"""Watermarks, row by row: each row carries the watermark that had been emitted before it.

As in Flink's assigner a watermark is emitted when it has moved by more than the interval, so that lateness is decided
by the row's place in its split and not by where an epoch ends. The highest expression so far is a running maximum;
since it only grows, the rows that emit are found by binary search, one per emission:

    expression   10   12   11  250  251   40  600      interval 200
    highest      10   12   12  250  251  251  600
    emits        10             250            600
    before row    -   10   10   10  250  250  250
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.errors import MalformedRecordError
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.delta.columns import HIDDEN, millis, names
from penstock.runtime.tables.base import TableOperator

State = tuple[int, int]
"""The highest expression seen, and the watermark emitted last."""


class WatermarkTableOperator(TableOperator):
    """Follows the row time of its input and notes the watermark beside every row.

    With `delay_ms` the watermark is the time column less that; else the input has two columns more, the row time
    and the watermark expression. One of several subtasks that has not seen any row holds nobody back: it may have no
    split. The only subtask does, as in Flink: its rows may come in a later epoch.
    """

    def __init__(self, width: int, interval_ms: int, time_column: int, delay_ms: int | None) -> None:
        self._width = width
        self._interval_ms = interval_ms
        self._time_column = time_column
        self._delay_ms = delay_ms
        self._state: State | None = None

    def process_table(self, input_index: int, table: pa.Table) -> None:
        if self.context.batch_mode:
            self.output.emit_table(self._columns(table, table.column(table.num_columns - 2)))
            return
        before, self._state = follow(
            self._expressions(table), self._state or (MIN_WATERMARK, MIN_WATERMARK), self._interval_ms
        )
        self.output.emit_table(self._columns(table, pa.array(before)))

    def _expressions(self, table: pa.Table) -> np.ndarray[Any, Any]:
        times = table.column(self._time_column if self._delay_ms is not None else self._width)
        if times.null_count:
            raise MalformedRecordError(
                "the row time of a record is null",
                do="a column with a watermark must not be null: filter such rows or change the expression",
            )
        if self._delay_ms is not None:
            return millis(times) - self._delay_ms
        return _millis(table.column(self._width + 1))

    def _columns(self, table: pa.Table, watermarks: Any) -> pa.Table:
        width, hidden = self._width, table.num_columns - len(HIDDEN)
        columns = [*table.columns[:width], table.column(hidden), watermarks, table.column(hidden + 2)]
        return pa.table(columns, names=names(width))

    def on_watermark(self, watermark: int) -> None:
        """Watermarks from below say nothing about this row time, but for the end of the input."""
        self.current_watermark = max(
            self.current_watermark, watermark if watermark == MAX_WATERMARK else MIN_WATERMARK
        )

    def end_epoch(self) -> None:
        self.output.emit_idle(self._state is None and self.context.parallelism > 1)
        if self._state is not None:
            self.output.emit_watermark(self._state[1])
            if self.current_watermark == MAX_WATERMARK:
                self.output.emit_watermark(MAX_WATERMARK)

    def on_idle(self, idle: bool) -> None:
        """Idle is one of several that has not seen a row; see `end_epoch`."""

    def snapshot(self) -> Any:
        return {**super().snapshot(), "state": self._state}

    def restore(self, states: Sequence[Any]) -> None:
        super().restore(states)
        found = [s["state"] for s in states if s["state"] is not None]
        self._state = (max(s[0] for s in found), min(s[1] for s in found)) if found else None


def follow(expressions: np.ndarray[Any, Any], state: State, interval_ms: int) -> tuple[Any, State]:
    """The watermark before each row, and the state after the last; a missing expression is MIN_WATERMARK.

    >>> before, state = follow(np.array([10, 12, 11, 250, 251, 40, 600]), (MIN_WATERMARK, MIN_WATERMARK), 200)
    >>> before.tolist()[1:], state
    ([10, 10, 10, 250, 250, 250], (600, 600))
    """
    current, emitted = state
    highest = np.maximum.accumulate(np.maximum(expressions, current))
    before = np.empty(len(highest), np.int64)
    at = 0
    while at < len(highest):
        # A value emits if it is new; `highest` repeats the former one until then.
        bound = emitted if emitted == MIN_WATERMARK else emitted + interval_ms
        emits = at + int(np.searchsorted(highest[at:], max(bound, current), side="right"))
        before[at : emits + 1] = emitted
        if emits >= len(highest):
            break
        emitted = current = int(highest[emits])
        at = emits + 1
    return before, (int(highest[-1]), emitted)


def _millis(column: pa.Array) -> np.ndarray[Any, Any]:
    """A timestamp column in milliseconds, rounded down; MIN_WATERMARK for NULL."""
    if not column.null_count:
        return millis(column)
    zero = pa.scalar(0, pa.int64()).cast(column.type)
    return np.where(np.asarray(column.is_null()), MIN_WATERMARK, millis(pc.fill_null(column, zero)))
