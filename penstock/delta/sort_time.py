"""ORDER BY time ascending. By row time, rows wait for the watermark and go out in order.

    state, of the one key ():   time in ms -> rows of that time, in order of arrival;  a timer per time

A row at or behind the watermark is late and dropped. Further sort columns order rows of the same time.
By processing time the rows of an epoch have the same time, so only further columns are left to sort by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import PASSED, Kept, every_row
from penstock.delta.rows import sort_key
from penstock.delta.time.clock import LATE_RECORDS_DROPPED, due_in_order, times_of, watermarks_of
from penstock.state.descriptors import MapStateDescriptor


class SortTime(DeltaOperator):
    """Input rows only come. Output rows are input rows. It runs in one subtask.

    Args:
        rowtime_column: The time attribute.
        order: Further (column, ascending) pairs.
    """

    def __init__(self, rowtime_column: int, order: Sequence[tuple[int, bool]] = ()) -> None:
        self._rowtime = rowtime_column
        self._order = tuple(order)

    def kept(self) -> tuple[Kept, ...]:
        return every_row(until=(PASSED,))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = MapStateDescriptor("rows", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self._rows = context.keyed_state.get_partitioned_state(descriptor)

    def process(self, input_index: int, batch: Batch) -> None:
        backend = self.context.keyed_state
        backend.set_current_key(())
        arrived: dict[int, list[Row]] = {}
        times, marks = times_of(batch, self._rowtime), watermarks_of(batch)
        for row, time_ms, mark in zip(batch.rows, times, marks, strict=True):
            if time_ms <= mark:
                self.context.count(LATE_RECORDS_DROPPED)
            else:
                arrived.setdefault(time_ms, []).append(row)
        for time_ms, rows in arrived.items():
            waiting: list[Any] = self._rows.get(time_ms) or []
            if not waiting:
                backend.event_timers.register(time_ms)
            self._rows.put(time_ms, waiting + rows)

    def advance(self, watermark: int) -> None:
        backend = self.context.keyed_state
        for timer in due_in_order(backend.event_timers, watermark):
            backend.set_current_key(timer.key)
            rows: list[Row] = self._rows.get(timer.time_ms) or []
            self._rows.remove(timer.time_ms)
            if self._order:
                rows = sorted(rows, key=sort_key(self._order))
            for row in rows:
                self.output.append(row, INSERT, self.context.watermark)


class SortEpoch(DeltaOperator):
    """Sorts the rows of an epoch by `order`, and leaves out the first `offset`.

    That is ORDER BY processing time, and any ORDER BY where all input is one epoch. Rows only come; it runs in one
    subtask and has no state.
    """

    def __init__(self, order: Sequence[tuple[int, bool]] = (), offset: int = 0) -> None:
        self._order = tuple(order)
        self._offset = offset

    def process(self, input_index: int, batch: Batch) -> None:
        marks = watermarks_of(batch)
        changes = list(zip(batch.rows, marks, strict=True))
        if self._order:
            key = sort_key(self._order)
            changes.sort(key=lambda change: key(change[0]))
        for row, mark in changes[self._offset :]:
            self.output.append(row, INSERT, mark)
