"""Keeps one row per key: the first or the last, by arrival or by row time.

    ROW_NUMBER() OVER (PARTITION BY key ORDER BY time [DESC]) = 1

Input rows only come. What comes out:

    first by arrival     +I at once, never changed
    last by arrival      replaced by each new row
    last by row time     replaced by rows that are not older
    first by row time    +I when the watermark reaches the row, because until then an older one may come; never
                         changed. Rows at or behind the watermark are late and dropped.

The first three are `Deduplicate`, the last is `DeduplicateFirstByTime`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.emit import emit_change
from penstock.delta.kept import Kept
from penstock.delta.rows import identities, keys_of, with_ttl
from penstock.delta.time.clock import LATE_RECORDS_DROPPED, due_in_order, times_of, watermarks_of
from penstock.state.descriptors import ValueStateDescriptor


class Deduplicate(DeltaOperator):
    """Output rows are input rows.

    Args:
        key_columns: What is unique in the result.
        keep_last: The last row instead of the first.
        rowtime_column: With `keep_last`, order by this column; None: by arrival.
        emit_update_before: Whether a replaced row is preceded by -U with the former one.
        state_ttl_ms: Keys that long without a change are forgotten; 0: never.
    """

    keeps_columns = True

    def __init__(
        self,
        key_columns: Sequence[int],
        *,
        keep_last: bool = False,
        rowtime_column: int | None = None,
        emit_update_before: bool = True,
        state_ttl_ms: int = 0,
    ) -> None:
        self._key_columns = tuple(key_columns)
        self._keep_last = keep_last
        self._rowtime = rowtime_column
        self._emit_before = emit_update_before
        self._ttl_ms = state_ttl_ms

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        return (Kept("1 row", ttl_ms=self._ttl_ms),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = ValueStateDescriptor("row", Types.PICKLED_BYTE_ARRAY())
        self._row = context.keyed_state.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))

    def process(self, input_index: int, batch: Batch) -> None:
        keys = keys_of(batch.rows, self._key_columns)
        best: dict[Any, tuple[Row, Row, int | None]] = {}
        marks: Iterable[int | None] = batch.watermarks if batch.watermarks is not None else repeat(None)
        for ident, key, row, mark in zip(identities(keys), keys, batch.rows, marks):  # noqa: B905
            known = best.get(ident)
            if known is None or self._replaces(row, known[1]):
                best[ident] = (key, row, mark)
        set_key = self.context.keyed_state.set_current_key
        for key, row, mark in best.values():
            set_key(key)
            before: Row | None = self._row.value()
            if before is None or self._replaces(row, before):
                self._row.update(row)
                emit_change(self.output, before, row, self._emit_before, mark)

    def _replaces(self, row: Row, kept: Row) -> bool:
        if not self._keep_last or self._rowtime is None:
            return self._keep_last
        return bool(row[self._rowtime] >= kept[self._rowtime])


class DeduplicateFirstByTime(DeltaOperator):
    """Output rows are input rows. State: the oldest row so far, and whether it went out."""

    keeps_columns = True

    def __init__(self, key_columns: Sequence[int], rowtime_column: int, *, state_ttl_ms: int = 0) -> None:
        self._key_columns = tuple(key_columns)
        self._rowtime = rowtime_column
        self._ttl_ms = state_ttl_ms

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        return (Kept("1 row", ttl_ms=self._ttl_ms),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = ValueStateDescriptor("first", Types.PICKLED_BYTE_ARRAY())
        self._first = context.keyed_state.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))

    def process(self, input_index: int, batch: Batch) -> None:
        backend = self.context.keyed_state
        times, marks = times_of(batch, self._rowtime), watermarks_of(batch)
        keys = keys_of(batch.rows, self._key_columns)
        for key, row, time_ms, mark in zip(keys, batch.rows, times, marks, strict=True):
            if time_ms <= mark:
                self.context.count(LATE_RECORDS_DROPPED)
                continue
            backend.set_current_key(key)
            first = self._first.value()
            if first is None or (first[0] is not None and time_ms < first[0]):
                if first is not None:
                    backend.event_timers.delete(first[0])
                self._first.update([time_ms, row])
                backend.event_timers.register(time_ms)

    def advance(self, watermark: int) -> None:
        backend = self.context.keyed_state
        for timer in due_in_order(backend.event_timers, watermark):
            backend.set_current_key(timer.key)
            first = self._first.value()
            if first is not None and first[0] == timer.time_ms:
                self._first.update([None])
                self.output.append(first[1], INSERT, self.context.watermark)
