"""Top-N and deduplication on columns, for inputs whose rows only come.

What they give say `delta/rank.py` and `delta/deduplicate.py`; the results are the same. The state is the leading rows
of each partition with their numbers of arrival. All partitions that an epoch touches are sorted at once, stored rows
and new ones together:

    partition   a  a  a  a | b  b            sorted by partition, order, arrival
    rank        1  2  3  4 | 1  2            N = 3: the fourth row of a goes, or does not come
    stored      x     x  x |    x            the same rows without the new ones are the result before
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.errors import InvariantError
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, WEIGHT, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.rows import ChangeReader, in_order, joint_codes, mixed, row_hashes, same_rows
from penstock.delta.columns import KIND, WATERMARK, Ints, filled, named, order_codes
from penstock.delta.kept import Kept, some_rows
from penstock.state.arranged.runs import distinct, summed

_PORTION = 1 << 17
"""Rows of an output table."""


@dataclass
class _Rows:
    """Stored rows, then new ones: columns, partition, arrival, rank before and after (from 0, -1: not there)."""

    table: pa.Table
    stored: int
    codes: Ints
    numbers: Ints
    marks: Ints
    before: Ints
    after: Ints


class ColumnarTopN(ColumnarOperator):
    """Input and output as in `Rank` with a constant end, for an input whose rows only come.

    Args:
        types: The columns of the input.
        order: (column, ascending) pairs, of types that `can_order`.
    """

    state_name = "leaders"  # as by rows, so that state of the other kind is recognized
    newest_first = False
    """Whether of rows with equal sort keys the later one is first."""

    keeps_columns = True

    def __init__(
        self,
        types: Sequence[DataType],
        partition_columns: Sequence[int],
        order: Sequence[tuple[int, bool]],
        *,
        end: int,
        start: int = 1,
        outputs_rank: bool = False,
        emit_update_before: bool = True,
    ) -> None:
        self._types = tuple(types)
        self._partition_columns = tuple(partition_columns)
        self.order = tuple(order)
        self._start, self.end = max(start, 1), end
        self._outputs_rank = outputs_rank
        self._emit_before = emit_update_before
        self._ttl_ms = 0

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._partition_columns

    def kept(self) -> tuple[Kept, ...]:
        return (Kept(some_rows(self.end), ttl_ms=0),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._reader = ChangeReader(self._types, self._partition_columns, False, context)
        names = context.names_of(0)
        columns = None if names is None else (*names, "arrival")
        self._leaders = context.keyed_state.get_arrangement(self.state_name, weighted=True, columns=columns)
        self._leaders.check(pa.schema([*self._reader.schema, ("n", pa.int64())]))

    def process_table(self, input_index: int, table: pa.Table) -> None:
        if np.isin(
            np.asarray(table.column(KIND)), [k for k, weight in enumerate(WEIGHT) if weight < 0]
        ).any():
            raise InvariantError("a row was taken back from an input whose rows only come")
        table = in_order(table)
        new = self._reader.visible(table)
        hashes = self._reader.hashes(new)
        places = self._reader.places_of(hashes)
        found = self._leaders.find(distinct(places))
        rows = self._ranked(found.table, new, np.asarray(table.column(WATERMARK)))
        self._store(rows, np.concatenate([found.places, places]), found.rows, hashes)
        if self._tells_ranks:
            self._emit_by_rank(rows)
        else:
            self._emit_members(rows)

    @property
    def _tells_ranks(self) -> bool:
        return self._outputs_rank

    def _ranked(self, stored: pa.Table, new: pa.Table, marks: Ints) -> _Rows:
        known = stored.num_rows
        numbers: Ints = np.asarray(stored.column(-1)) if known else np.empty(0, np.int64)
        visible = stored.select(range(len(self._types))) if known else new.slice(0, 0)
        # Greater than those of all stored rows, so also of those of the same partition.
        numbers = np.concatenate([numbers, numbers.max(initial=-1) + 1 + np.arange(new.num_rows)])
        table = pa.concat_tables([visible, new])
        codes = np.concatenate(joint_codes((self._partition_columns,) * 2, (visible, new)))
        keys = [order_codes(table.column(column), ascending) for column, ascending in self.order]
        order = np.lexsort((-numbers if self.newest_first else numbers, *reversed(keys), codes))
        before = np.full(len(order), -1, np.int64)
        old = order[order < known]
        before[old] = _ranks(codes[old])
        after = np.empty(len(order), np.int64)
        after[order] = _ranks(codes[order])
        after[after >= self.end] = -1
        marks = np.concatenate([np.full(known, MIN_WATERMARK), marks])
        return _Rows(table, known, codes, numbers, marks, before, after)

    # --- state --------------------------------------------------------------------------------------------

    def _store(self, rows: _Rows, places: Ints, stored_ids: Ints, hashes: Ints) -> None:
        leaving = np.flatnonzero(rows.after[: rows.stored] < 0)
        coming = rows.stored + np.flatnonzero(rows.after[rows.stored :] >= 0)
        at = np.concatenate([leaving, coming])
        # A row that goes is known by its identity.
        indices = pa.array(at, mask=np.arange(len(at)) < len(leaving))
        table = self._kept(rows.table).take(indices).append_column("n", pa.array(rows.numbers[at]))
        ids = mixed(rows.numbers[coming].view(np.uint64)) ^ hashes[coming - rows.stored]
        weights = np.concatenate([np.full(len(leaving), -1), np.ones(len(coming), np.int64)])
        self._leaders.add(table, places[at], np.concatenate([stored_ids[leaving], ids]), weights)

    def _kept(self, table: pa.Table) -> pa.Table:
        """What has to be stored of rows."""
        return table

    # --- output -------------------------------------------------------------------------------------------

    def _emit_members(self, rows: _Rows) -> None:
        """Rows that leave the range of ranks, then those that enter it."""
        was, now = (self._in_range(ranks) for ranks in (rows.before, rows.after))
        leaving, entering = np.flatnonzero(was & ~now), np.flatnonzero(now & ~was)
        if self._start > 1 and len(leaving):
            leaving, entering = self._without_same(rows, leaving, entering)
        self._emit(rows, leaving, DELETE)
        self._emit(rows, entering, INSERT)

    def _without_same(self, rows: _Rows, leaving: Ints, entering: Ints) -> tuple[Ints, Ints]:
        """Leaves out rows that enter for the same ones that leave.

        From rank 1 on there are none: a new row sorts behind the same ones. But a row before the range, that a new
        one pushes into it, may be the same as the one that it pushes out.
        """
        at = np.concatenate([leaving, entering])
        weights = np.repeat([-1, 1], [len(leaving), len(entering)])
        hashes = row_hashes(rows.table.take(pa.array(at)))
        kept, sums = summed(rows.codes[at], hashes, weights)
        times: Ints = np.abs(sums)
        at, sums = np.repeat(at[kept], times), np.repeat(sums, times)
        return at[sums < 0], at[sums > 0]

    def _in_range(self, ranks: Ints) -> Ints:
        return (ranks >= self._start - 1) & (ranks < self.end)

    def _emit_by_rank(self, rows: _Rows) -> None:
        """For each rank of each partition the row that was there and the one that is."""
        was, now = (np.flatnonzero(self._in_range(ranks)) for ranks in (rows.before, rows.after))
        width = self.end + 1
        old_places = rows.codes[was] * width + rows.before[was]
        new_places = rows.codes[now] * width + rows.after[now]
        order = np.argsort(new_places, kind="stable")
        now, new_places = now[order], new_places[order]
        # Rows only come, so every rank that had a row has one.
        old = np.full(len(now), -1, np.int64)
        old[np.searchsorted(new_places, old_places)] = was
        changed = old != now
        replaced = np.flatnonzero(changed & (old >= 0))
        changed[replaced] = ~same_rows(rows.table, old[replaced], rows.table, now[replaced])
        old, now = old[changed], now[changed]
        self._emit_changes(rows, old, now)

    def _emit_changes(self, rows: _Rows, old: Ints, now: Ints) -> None:
        """+I, or -U and +U where there was a row (`old` is not -1)."""
        replaces = old >= 0
        tells = replaces & self._emit_before
        at = np.column_stack([old, now]).ravel()
        kinds = np.column_stack(
            [np.full(len(old), UPDATE_BEFORE), np.where(replaces, UPDATE_AFTER, INSERT)]
        ).ravel()
        cause = np.repeat(now, 2)
        kept = np.column_stack([tells, np.ones(len(old), bool)]).ravel()
        self._emit(rows, at[kept], kinds[kept], cause[kept])

    def _emit(self, rows: _Rows, at: Ints, kinds: Any, cause: Ints | None = None) -> None:
        """Rows with their kinds; `cause` are the rows that bring the change about, where time goes on."""
        kinds = np.broadcast_to(np.asarray(kinds, np.int8), at.shape)
        for start in range(0, len(at), _PORTION):
            mine = slice(start, start + _PORTION)
            columns = rows.table.take(pa.array(at[mine])).columns
            if self._outputs_rank:
                assert cause is not None
                columns = [*columns, pa.array(rows.after[cause[mine]] + 1)]
            count = len(at[mine])
            self.output_tables.append(
                named(
                    [*columns, pa.array(kinds[mine]), self._marks(rows, cause, mine, count), filled(0, count)]
                )
            )

    def _marks(self, rows: _Rows, cause: Ints | None, mine: slice, count: int) -> pa.Array:
        return filled(MIN_WATERMARK, count)


class ColumnarDeduplicate(ColumnarTopN):
    """Input and output as in `Deduplicate`."""

    state_name = "row"

    def __init__(
        self,
        types: Sequence[DataType],
        key_columns: Sequence[int],
        *,
        keep_last: bool = False,
        rowtime_column: int | None = None,
        emit_update_before: bool = True,
    ) -> None:
        order = [] if rowtime_column is None or not keep_last else [(rowtime_column, False)]
        super().__init__(types, key_columns, order, end=1, emit_update_before=emit_update_before)
        self.newest_first = keep_last

    def kept(self) -> tuple[Kept, ...]:
        if self.newest_first:
            return super().kept()
        return (Kept("that there was a row", columns=(), ttl_ms=0),)

    @property
    def _tells_ranks(self) -> bool:
        return True

    def _kept(self, table: pa.Table) -> pa.Table:
        if self.newest_first:
            return table
        # A first row is never looked at again: that there was one is enough.
        columns = [
            c if i in self._partition_columns else pa.nulls(table.num_rows, c.type)
            for i, c in enumerate(table.columns)
        ]
        return pa.table(columns, schema=table.schema)

    def _marks(self, rows: _Rows, cause: Ints | None, mine: slice, count: int) -> pa.Array:
        assert cause is not None
        return pa.array(rows.marks[cause[mine]])


def _ranks(codes: Ints) -> Ints:
    """The number of each row within its code, from 0; rows of a code stand together."""
    if not len(codes):
        return np.empty(0, np.int64)
    begins = np.empty(len(codes), bool)
    begins[0] = True
    begins[1:] = codes[1:] != codes[:-1]
    starts = np.flatnonzero(begins)
    return np.arange(len(codes)) - starts[np.cumsum(begins) - 1]
