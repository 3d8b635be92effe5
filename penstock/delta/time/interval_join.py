"""Interval join: rows of two streams whose times are at most so far apart.

A pair (l, r) is in the result if the keys are equal, `lower <= l.time - r.time <= upper`, the residual holds, and
neither row came after the other one had been given up:

    l.time ------[------------ r may be here ------------]------>  time
           l - upper                               l - lower
                            a left row is given up when the watermark passes l - lower

Rows that are not late always find each other. A late row finds what is not given up yet by the watermark that
was before it; Flink decides that by when its state was cleaned, which depends on arrival. Here both rows are
asked, by the watermarks they came with, so it does not matter which of them came first or in which epoch.

A row without a partner is padded, in outer joins, when it is given up. By then the watermark has gone beyond the
row's time, so what follows must lag behind: see `watermark_delay_ms`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.ids import MIN_WATERMARK
from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.join import JoinType, Predicate
from penstock.delta.kept import Kept, every_row, waiting
from penstock.delta.rows import identities, keys_of
from penstock.delta.time.attached import require_inserts
from penstock.delta.time.clock import due_in_order, times_of, watermarks_of
from penstock.state.descriptors import MapStateDescriptor

_ROW, _WATERMARK, _MATCHED = 0, 1, 2
"""What is kept of a row."""

_TYPES = (JoinType.INNER, JoinType.LEFT, JoinType.RIGHT, JoinType.FULL)


class IntervalJoin(DeltaOperator):
    """Input 0 is the left side, input 1 the right. Output row: left columns, right columns.

    Args:
        left_keys, right_keys: The columns that must be equal, pairwise.
        left_time, right_time: The row times; None on both sides for processing time.
        lower_ms, upper_ms: Bounds of left time minus right time, both included.
        left_width, right_width: How many columns the inputs have, to pad with NULLs.
        residual: What else must hold for (left row, right row); picklable.

    Attributes:
        watermark_delay_ms: How far the watermark of the result lags behind that of the inputs. The next
            operator has to be advanced to the watermark less this.
    """

    input_count = 2

    def __init__(
        self,
        join_type: JoinType,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        left_time: int | None,
        right_time: int | None,
        lower_ms: int,
        upper_ms: int,
        *,
        left_width: int,
        right_width: int,
        residual: Predicate | None = None,
    ) -> None:
        if join_type not in _TYPES:
            raise ValidationError(f"an interval join cannot be a {join_type.value} join")
        if len(left_keys) != len(right_keys):
            raise ValidationError(f"a join of {len(left_keys)} with {len(right_keys)} key columns")
        if (left_time is None) != (right_time is None):
            raise ValidationError("an interval join of a row time with a processing time")
        self._keys = (tuple(left_keys), tuple(right_keys))
        self._times = (left_time, right_time)
        self._lower_ms, self._upper_ms = lower_ms, upper_ms
        self._pads = ((None,) * right_width, (None,) * left_width)
        self._padded = (
            join_type in (JoinType.LEFT, JoinType.FULL),
            join_type in (JoinType.RIGHT, JoinType.FULL),
        )
        self._residual = residual
        # How long after its own time a row may still find a partner.
        self._waits_ms = (-lower_ms, upper_ms)
        self.watermark_delay_ms = 0 if left_time is None else max(-lower_ms, upper_ms, 0) + any(self._padded)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys[input_index]

    def kept(self) -> tuple[Kept, ...]:
        return every_row(2, until=waiting(self._waits_ms))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        backend, pickled = context.keyed_state, Types.PICKLED_BYTE_ARRAY()
        self._rows = [
            backend.get_partitioned_state(MapStateDescriptor(name, pickled, pickled))
            for name in ("left", "right")
        ]
        self._event_time = self._times[0] is not None
        self._timers = backend.event_timers if self._event_time else backend.processing_timers

    # --- rows ---------------------------------------------------------------------------------------------

    def process(self, input_index: int, batch: Batch) -> None:
        require_inserts(batch, "IntervalJoin")
        column = self._times[input_index]
        if column is None:
            times: Sequence[int] = [self.context.processing_time_ms] * len(batch)
        else:
            times = times_of(batch, column)
        keys = keys_of(batch.rows, self._keys[input_index])
        watermarks = watermarks_of(batch)
        groups: dict[Any, list[int]] = {}
        for index, ident in enumerate(identities(keys)):
            groups.setdefault(ident, []).append(index)
        for indexes in groups.values():
            arrivals = [(batch.rows[index], times[index], watermarks[index]) for index in indexes]
            self._take(input_index, keys[indexes[0]], arrivals)

    def _take(self, side: int, key: Row, arrivals: list[tuple[Row, int, int]]) -> None:
        """Rows of one key. The other side is read once and searched by time."""
        if None in key:  # equals no key
            for row, time_ms, watermark in arrivals:
                self._alone(side, row, time_ms, watermark)
            return
        self.context.keyed_state.set_current_key(key)
        partners = sorted(self._rows[1 - side].items(), key=itemgetter(0))
        partner_times = [time_ms for time_ms, _ in partners]
        found: set[int] = set()
        for row, time_ms, watermark in arrivals:
            own_wait, other_wait = self._waits_ms[side], self._waits_ms[1 - side]
            # Partners before `watermark - other_wait` are given up, for this row.
            first = bisect_left(partner_times, max(time_ms, watermark) - other_wait)
            last = bisect_right(partner_times, time_ms + own_wait)
            matched = False
            for index in range(first, last):
                if self._join_with(side, row, time_ms, watermark, partners[index][1]):
                    matched = True
                    found.add(index)
            self._keep(side, row, time_ms, watermark, matched)
        if self._padded[1 - side]:
            for index in found:
                self._rows[1 - side].put(*partners[index])

    def _join_with(self, side: int, row: Row, time_ms: int, watermark: int, records: list[Any]) -> bool:
        """Joins a row with those of one time on the other side; whether there was a partner."""
        given_up_at = time_ms + self._waits_ms[side]
        matched = False
        for record in records:
            if record[_WATERMARK] <= given_up_at and self._holds(side, row, record[_ROW]):
                self._pair(side, row, record[_ROW], max(watermark, record[_WATERMARK]))
                record[_MATCHED] = matched = True
        return matched

    def _keep(self, side: int, row: Row, time_ms: int, watermark: int, matched: bool) -> None:
        given_up = time_ms + self._waits_ms[side] + 1
        if given_up <= self._now():
            if not matched:
                self._alone(side, row, time_ms, watermark)
            return
        state = self._rows[side]
        records = state.get(time_ms)
        if records is None:
            records = []
            self._timers.register(given_up, side)
        records.append([row, watermark, matched])
        state.put(time_ms, records)

    def _now(self) -> int:
        return self.context.watermark if self._event_time else self.context.processing_time_ms

    def _holds(self, side: int, row: Row, other: Row) -> bool:
        if self._residual is None:
            return True
        left, right = (row, other) if side == 0 else (other, row)
        return self._residual(left, right) is True

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        if self._event_time:
            self._give_up_until(watermark)

    def end_epoch(self) -> None:
        if not self._event_time:
            self._give_up_until(self.context.processing_time_ms)

    def _give_up_until(self, now_ms: int) -> None:
        for timer in due_in_order(self._timers, now_ms):
            side: int = timer.namespace
            self.context.keyed_state.set_current_key(timer.key)
            time_ms = timer.time_ms - self._waits_ms[side] - 1
            records: list[Any] | None = self._rows[side].get(time_ms)
            if records is None:
                continue
            self._rows[side].remove(time_ms)
            for row, watermark, matched in records:
                if not matched:
                    self._alone(side, row, time_ms, watermark)

    # --- output -------------------------------------------------------------------------------------------

    def _pair(self, side: int, row: Row, other: Row, watermark: int) -> None:
        pair = row + other if side == 0 else other + row
        self._put_out(pair, self._delayed(watermark))

    def _alone(self, side: int, row: Row, time_ms: int, watermark: int) -> None:
        if self._padded[side]:
            padded = row + self._pads[0] if side == 0 else self._pads[1] + row
            self._put_out(padded, max(time_ms - 1, self._delayed(watermark)))

    def _delayed(self, watermark: int) -> int:
        return MIN_WATERMARK if watermark == MIN_WATERMARK else watermark - self.watermark_delay_ms

    def _put_out(self, row: Row, watermark: int) -> None:
        self.output.append(row, INSERT, watermark if self._event_time else None)
