"""The inner interval join on columns: pairs are found by sorting and binary search, not row by row.

    right rows, sorted by (key, time)      a1 a2 a5 | b2 b3 | c9
    left row (b, 3), bounds -1 .. 1                   [b2 b3]          two searches, then a range

What a pair is says `delta/time/interval_join.py`, which also does outer joins; the results are the same. In an epoch
new left rows meet all right rows, and waiting left rows meet new right rows: each pair once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.group_codes import group_codes
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import INSERT, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator, GroupedTables
from penstock.delta.columnar.pairs import portions, spread
from penstock.delta.columns import HIDDEN, WATERMARK, Ints, filled, millis, named
from penstock.delta.kept import Kept, every_row, waiting

_PAIRS = 1 << 20
"""Pairs that are made at once."""


class ColumnarIntervalJoin(ColumnarOperator):
    """Inputs, bounds and output as in `IntervalJoin`, for an inner join without residual in event time."""

    input_count = 2

    def __init__(
        self,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        left_time: int,
        right_time: int,
        lower_ms: int,
        upper_ms: int,
    ) -> None:
        self._keys = (tuple(left_keys), tuple(right_keys))
        self._times = (left_time, right_time)
        self._lower_ms, self._upper_ms = lower_ms, upper_ms
        self._waits_ms = (-lower_ms, upper_ms)
        self.watermark_delay_ms = max(-lower_ms, upper_ms, 0)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys[input_index]

    def kept(self) -> tuple[Kept, ...]:
        return every_row(2, until=waiting(self._waits_ms))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._stores = [
            GroupedTables(context, name, context.names_of(i)) for i, name in enumerate(("left", "right"))
        ]

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._new: list[pa.Table | None] = [None, None]
        self._old = [store.load() for store in self._stores]
        self._now_ms = self.context.watermark

    def process_table(self, input_index: int, table: pa.Table) -> None:
        valid = None
        for column in self._keys[input_index]:
            if table.column(column).null_count:  # equals no key
                mine = pc.is_valid(table.column(column))
                valid = mine if valid is None else pc.and_(valid, mine)
        self._new[input_index] = table if valid is None else table.filter(valid)

    def advance(self, watermark: int) -> None:
        self._now_ms = watermark

    def end_epoch(self) -> None:
        new_left, new_right = self._new
        old_left, old_right = self._old
        self._join(new_left, _together(old_right, new_right))
        self._join(old_left, new_right)
        for side, store in enumerate(self._stores):
            rows = _together(self._old[side], self._new[side])
            store.store(None if rows is None else self._waiting(side, rows), self._keys[side])

    def _waiting(self, side: int, rows: pa.Table) -> pa.Table:
        """Rows that may still find a partner."""
        given_up = millis(rows.column(self._times[side])) + self._waits_ms[side] + 1
        return rows.filter(pa.array(given_up > self._now_ms))

    # --- pairs --------------------------------------------------------------------------------------------

    def _join(self, left: pa.Table | None, right: pa.Table | None) -> None:
        if left is None or right is None or not left.num_rows or not right.num_rows:
            return
        sides = self._sides(left, right)
        for left_rows, right_rows in self._pairs(*sides):
            self._emit(left, right, left_rows, right_rows, sides)

    def _sides(self, left: pa.Table, right: pa.Table) -> tuple[Ints, Ints, Ints, Ints]:
        """Codes of the keys and times, of both sides."""
        columns = [
            pa.chunked_array([*left.column(a).chunks, *right.column(b).chunks])
            for a, b in zip(*self._keys, strict=True)
        ]
        codes = group_codes(columns, left.num_rows + right.num_rows)
        times = [millis(t.column(c)) for t, c in zip((left, right), self._times, strict=True)]
        return codes[: left.num_rows], codes[left.num_rows :], times[0], times[1]

    def _pairs(
        self, left_codes: Ints, right_codes: Ints, left_times: Ints, right_times: Ints
    ) -> Iterator[tuple[Ints, Ints]]:
        """Row numbers of left and right rows with equal keys and times within the bounds."""
        moments, ranks = np.unique(right_times, return_inverse=True)
        width = len(moments) + 1
        places = right_codes * width + ranks
        order = np.argsort(places, kind="stable")
        places = places[order]
        first = np.searchsorted(moments, left_times - self._upper_ms, "left") + left_codes * width
        last = np.searchsorted(moments, left_times - self._lower_ms, "right") + left_codes * width
        starts = np.searchsorted(places, first, "left")
        counts = np.searchsorted(places, last, "left") - starts
        for rows in portions(np.maximum(counts, 0), _PAIRS):
            yield spread(rows, starts, counts, order)

    def _emit(
        self,
        left: pa.Table,
        right: pa.Table,
        left_rows: Ints,
        right_rows: Ints,
        sides: tuple[Ints, Ints, Ints, Ints],
    ) -> None:
        """Pairs of which neither came after the other had been given up."""
        left_marks = np.asarray(left.column(WATERMARK))[left_rows]
        right_marks = np.asarray(right.column(WATERMARK))[right_rows]
        in_time = (left_marks <= sides[3][right_rows] + self._upper_ms) & (
            right_marks <= sides[2][left_rows] - self._lower_ms
        )
        if not in_time.all():
            left_rows, right_rows = left_rows[in_time], right_rows[in_time]
            left_marks, right_marks = left_marks[in_time], right_marks[in_time]
        if not len(left_rows):
            return
        columns = [c.take(pa.array(left_rows)) for c in left.columns[: -len(HIDDEN)]]
        columns += [c.take(pa.array(right_rows)) for c in right.columns[: -len(HIDDEN)]]
        marks = np.maximum(left_marks, right_marks)
        marks = np.where(marks == MIN_WATERMARK, marks, marks - self.watermark_delay_ms)
        hidden = [filled(INSERT, len(marks), np.int8), pa.array(marks), filled(0, len(marks))]
        self.output_tables.append(named([*columns, *hidden]))


def _together(*tables: pa.Table | None) -> pa.Table | None:
    found = [table for table in tables if table is not None]
    return pa.concat_tables(found) if found else None
