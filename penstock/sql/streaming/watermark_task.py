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

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.errors import MalformedRecordError
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.columns import HIDDEN, millis, names
from penstock.sql.streaming.physical import SUBTASK_BITS
from penstock.sql.streaming.task_report import Batches, TaskReport

State = tuple[int, int]
"""The highest expression seen, and the watermark emitted last."""


@dataclass(frozen=True)
class WatermarkTask:
    """Follows the watermark of each source subtask and notes it beside every row.

    With `delay_ms` the watermark is the time column less that; else the input has two columns more, the row time
    and the watermark expression.
    """

    uid: str
    width: int
    interval_ms: int
    former: Mapping[int, State]
    report: Any
    time_column: int = 0
    delay_ms: int | None = None
    states: dict[int, State] = field(default_factory=dict)
    """Where each subtask stands, once the task has run."""

    def __call__(self, batches: Batches) -> Batches:
        states = self.states
        for batch in batches:
            if batch.num_rows:
                yield self._follow(batch, states)
        for subtask, state in states.items():
            self.report.add(
                [TaskReport(self.uid, subtask, watermark=state[1], metrics={"current": state[0]})]
            )

    def _follow(self, batch: pa.RecordBatch, states: dict[int, State]) -> pa.RecordBatch:
        width, hidden = self.width, batch.num_columns - len(HIDDEN)
        times = batch.column(self.time_column if self.delay_ms is not None else width)
        if times.null_count:
            raise MalformedRecordError(
                "the row time of a record is null",
                do="a column with a watermark must not be null: filter such rows or change the expression",
            )
        if self.delay_ms is not None:
            expressions = millis(times) - self.delay_ms
        else:
            expressions = _millis(batch.column(width + 1))
        subtasks = batch.column(hidden + 2).to_numpy() >> SUBTASK_BITS
        before = np.empty(len(subtasks), np.int64)
        for start, end in _runs(subtasks):
            subtask = int(subtasks[start])
            state = states.get(subtask) or self.former.get(subtask, (MIN_WATERMARK, MIN_WATERMARK))
            before[start:end], states[subtask] = follow(expressions[start:end], state, self.interval_ms)
        columns = [*batch.columns[:width], batch.column(hidden), pa.array(before), batch.column(hidden + 2)]
        return pa.RecordBatch.from_arrays(columns, names=names(width))


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


def _runs(values: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Stretches of equal values; almost always there is one."""
    if values[0] == values[-1] and (values == values[0]).all():
        return [(0, len(values))]
    cuts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(cuts))


def _millis(column: pa.Array) -> np.ndarray[Any, Any]:
    """A timestamp column in milliseconds, rounded down; MIN_WATERMARK for NULL."""
    if not column.null_count:
        return millis(column)
    zero = pa.scalar(0, pa.int64()).cast(column.type)
    return np.where(np.asarray(column.is_null()), MIN_WATERMARK, millis(pc.fill_null(column, zero)))
