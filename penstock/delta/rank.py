"""Top-N: the rows of each partition whose ROW_NUMBER lies in a range.

    ROW_NUMBER() OVER (PARTITION BY p ORDER BY o) BETWEEN start AND end

Rows with equal sort keys are numbered in order of arrival. If input rows only come, a row that fell out of the
first `end` never returns, so these are all there is to remember. If they may go, all rows are kept in map
state, and beside them the *leaders*: the first rows in order, somewhat more than the result needs. As long as
enough leaders are left, the rest is not looked at; when they run out they are picked anew from all rows.

    leaders (sorted)                      | rest (unsorted, in map state only)
    r1 r2 r3 | r4 r5 ... up to 2 end + 16 | every row here sorts behind the last leader

Per epoch and partition the result before and after are compared. With the rank in the output, each rank is a row
that is replaced; without it, rows leave and enter and the order among them is not told.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from decimal import Decimal
from heapq import nsmallest
from operator import itemgetter
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import UNMATCHED_RETRACTIONS, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.emit import emit_change
from penstock.delta.kept import Kept, every_row, some_rows
from penstock.delta.rows import (
    canonical_bytes,
    columns_getter,
    consolidate,
    emit_weights,
    group_by_key,
    identities,
    same_row,
    sort_key,
    with_ttl,
)
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor

_NUMBERS = frozenset({int, Decimal})
Leader = tuple[int, Row]
"""Arrival number and row."""


class _Partition:
    """What the value state of a partition holds; lists and numbers only."""

    __slots__ = ("complete", "end", "leaders", "next_number")

    def __init__(self, state: list[Any] | None) -> None:
        self.leaders: list[Leader]
        self.next_number: int
        self.complete: bool
        self.end: int
        self.leaders, self.next_number, self.complete, self.end = state or [[], 0, True, -1]

    def state(self) -> list[Any]:
        return [self.leaders, self.next_number, self.complete, self.end]


def _kept(partition: _Partition) -> int:
    """How many leaders are kept: some more than wanted, so that few retractions need a look at all rows."""
    return 2 * partition.end + 16


class Rank(DeltaOperator):
    """Output row: the input row, and the rank as last column if `outputs_rank`.

    Args:
        partition_columns: None for a Top-N over everything.
        order: (column, ascending) pairs; NULL is the smallest value.
        end: The last rank of the result, or None with `end_column`.
        start: The first rank.
        end_column: A column with the last rank; the first row of a partition decides.
        upsert_key: If the input has no -U rows, the columns that identify a row within its partition.
        input_retracts: Whether input rows may be taken back.
        emit_update_before: With the rank in the output, whether a replaced row is preceded by -U.
        state_ttl_ms: Partitions that long without a change are forgotten; 0: never.
    """

    keeps_columns = True

    def __init__(
        self,
        partition_columns: Sequence[int],
        order: Sequence[tuple[int, bool]],
        *,
        end: int | None,
        start: int = 1,
        end_column: int | None = None,
        upsert_key: Sequence[int] | None = None,
        outputs_rank: bool = False,
        input_retracts: bool = True,
        emit_update_before: bool = True,
        state_ttl_ms: int = 0,
    ) -> None:
        self._partition_columns = tuple(partition_columns)
        self.order = tuple(order)
        self._start = max(start, 1)
        self.end = end
        self._end_column = end_column
        self._upsert_columns = None if upsert_key is None else tuple(upsert_key)
        self._outputs_rank = outputs_rank
        self._retracts = input_retracts or upsert_key is not None
        self._emit_before = emit_update_before
        self._ttl_ms = state_ttl_ms

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._partition_columns

    def kept(self) -> tuple[Kept, ...]:
        if self._retracts or self.end is None:
            return every_row(ttl_ms=(self._ttl_ms,), until=("",))
        return (Kept(some_rows(self.end), ttl_ms=self._ttl_ms),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        backend, pickled = context.keyed_state, Types.PICKLED_BYTE_ARRAY()
        self._leaders = backend.get_partitioned_state(
            with_ttl(ValueStateDescriptor("leaders", pickled), self._ttl_ms)
        )
        if self._retracts:
            self._rows = backend.get_partitioned_state(
                with_ttl(MapStateDescriptor("rows", pickled, pickled), self._ttl_ms)
            )
        self._upsert_key = None
        if self._upsert_columns is not None:
            self._upsert_key = columns_getter(self._upsert_columns)
            self._by_key = backend.get_partitioned_state(
                with_ttl(MapStateDescriptor("by-key", pickled, pickled), self._ttl_ms)
            )
        row_key = sort_key(self.order)
        self._sort_key = lambda leader: (row_key(leader[1]), leader[0])

    def process(self, input_index: int, batch: Batch) -> None:
        set_key = self.context.keyed_state.set_current_key
        for key, rows, weights in group_by_key(batch, self._partition_columns):
            set_key(key)
            self._update_partition(rows, weights)

    def _update_partition(self, rows: Sequence[Row], weights: Sequence[int] | None) -> None:
        partition = _Partition(self._leaders.value())
        if partition.end < 0:
            partition.end = self.end if self._end_column is None else rows[0][self._end_column]  # type: ignore[assignment]
        before = self._result(partition)
        if self._retracts:
            self._change(partition, rows, weights)
        elif partition.end >= self._start:
            self._add(partition, rows)
        after = self._result(partition)
        if partition.leaders:
            self._leaders.update(partition.state())
        else:
            self._leaders.clear()
        self._emit(before, after)

    def _result(self, partition: _Partition) -> list[Row]:
        return [row for _, row in partition.leaders[self._start - 1 : partition.end]]

    def _add(self, partition: _Partition, rows: Sequence[Row]) -> None:
        """Rows that only come: sorted together with the leaders, once."""
        first = partition.next_number
        partition.next_number += len(rows)
        everyone = [*partition.leaders, *enumerate(rows, first)]
        numbers = self._numbers([row for _, row in everyone])
        if numbers is None:
            everyone.sort(key=self._sort_key)
        else:
            everyone = [
                leader
                for _, _, leader in sorted(zip(numbers, map(itemgetter(0), everyone), everyone, strict=True))
            ]
        partition.leaders = everyone[: partition.end]
        partition.complete = partition.complete and len(everyone) <= partition.end

    def _numbers(self, rows: list[Row]) -> list[Any] | None:
        """Numbers that sort as the rows do, if they are ordered by one column of whole or decimal numbers."""
        if len(self.order) != 1:
            return None
        column, ascending = self.order[0]
        values = [row[column] for row in rows]
        if not _NUMBERS.issuperset(map(type, values)):
            return None
        return values if ascending else [-value for value in values]

    def _change(self, partition: _Partition, rows: Sequence[Row], weights: Sequence[int] | None) -> None:
        for at, row in enumerate(rows):
            comes = weights is None or weights[at] > 0
            if self._upsert_key is not None:
                self._upsert(partition, row, comes)
            elif comes:
                self._come(partition, row)
            else:
                self._go(partition, row)

    # --- rows of a partition ------------------------------------------------------------------------------

    def _upsert(self, partition: _Partition, row: Row, comes: bool) -> None:
        """A row that comes replaces the one with its key; of one that goes only the key counts."""
        assert self._upsert_key is not None
        key = canonical_bytes(self._upsert_key(row))
        former: Row | None = self._by_key.get(key)
        if former is not None:
            self._go(partition, former)
        if comes:
            self._by_key.put(key, row)
            self._come(partition, row)
        elif former is not None:
            self._by_key.remove(key)

    def _come(self, partition: _Partition, row: Row) -> None:
        if partition.end < self._start:
            return
        leader = (partition.next_number, row)
        partition.next_number += 1
        ident = canonical_bytes(row)
        record = self._rows.get(ident) or (0, *row)
        self._rows.put(ident, (record[0] + 1, leader[0], *record[1:]))
        leaders = partition.leaders
        if not partition.complete and not self._sort_key(leader) < self._sort_key(leaders[-1]):
            return
        insort(leaders, leader, key=self._sort_key)
        if len(leaders) > _kept(partition):
            leaders.pop()
            partition.complete = False

    def _go(self, partition: _Partition, row: Row) -> None:
        if partition.end < self._start:
            return
        number = self._remove(row)
        if number is None:
            self.context.count(UNMATCHED_RETRACTIONS)
            return
        leaders, key = partition.leaders, self._sort_key((number, row))
        at = bisect_left(leaders, key, key=self._sort_key)
        if at < len(leaders) and leaders[at][0] == number:
            del leaders[at]
        if not partition.complete and len(leaders) < partition.end:
            self._pick_leaders(partition)

    def _remove(self, row: Row) -> int | None:
        """Takes the earliest of the same rows out of the map; its arrival number, None if there is none.

        Record: (how many, their numbers with the latest first, the row).
        """
        ident = canonical_bytes(row)
        record = self._rows.get(ident)
        if record is None:
            return None
        count = record[0]
        number: int = record[count]
        if count == 1:
            self._rows.remove(ident)
        else:
            self._rows.put(ident, (count - 1, *record[1:count], *record[count + 1 :]))
        return number

    def _pick_leaders(self, partition: _Partition) -> None:
        everything: list[Leader] = []
        for record in self._rows.values():
            count = record[0]
            row = record[count + 1 :]
            everything.extend((number, row) for number in record[1 : count + 1])
        limit = _kept(partition)
        partition.leaders = nsmallest(limit, everything, key=self._sort_key)
        partition.complete = len(everything) <= limit

    # --- output -------------------------------------------------------------------------------------------

    def _emit(self, before: list[Row], after: list[Row]) -> None:
        if self._outputs_rank:
            for at in range(max(len(before), len(after))):
                rank = (self._start + at,)
                old = before[at] + rank if at < len(before) else None
                new = after[at] + rank if at < len(after) else None
                emit_change(self.output, old, new, self._emit_before)
            return
        if len(before) == len(after) and all(map(same_row, before, after)):
            return
        rows = before + after
        weights = [-1] * len(before) + [1] * len(after)
        emit_weights(self.output, [(r, w) for _, r, w in consolidate(identities(rows), rows, weights)])
