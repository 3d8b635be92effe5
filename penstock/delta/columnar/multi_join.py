"""Inner and left joins of many inputs on one key, as one operator: each input is kept once, and nothing in between.

    bids ── bidder ──┐                                 two joins of two would also keep every bid with its person,
    persons ── id ───┼──▶ MultiJoin                    and make that row only to look for its auctions
    auctions ─ seller┘

For each key the result is the product of the rows that the inputs have of it. An input of a left join that has none
stands there with one row of NULLs. So with old and new weights of rows as in `sides.py`, NULL rows included, a
combination of rows changes by the product of their new weights less that of their old ones. Combinations are gone
through once, by the first input of which a changed row takes part:

    changed × every × every,   same × changed × every,   same × same × changed

The key of all joins is that of the first input, and rows of the first input are not filled up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.pairs import ByCode, partners_of, portions
from penstock.delta.columnar.rows import ChangeReader, Changes
from penstock.delta.columnar.sides import Side, View, changes_table, views_of
from penstock.delta.columns import Ints
from penstock.delta.kept import Kept, every_row
from penstock.state.arranged.runs import distinct

_ROWS = 1 << 17
"""Rows of the result that are made at once."""


class ColumnarMultiJoin(ColumnarOperator):
    """Output row: the columns of all inputs.

    Args:
        types: The columns of each input.
        keys: For each input the columns that must equal those of the others; NULL equals nothing.
        padded: For each input whether it is the right side of a left join. The first is not.
        retracts: For each input whether rows may be taken back; see `ColumnarJoin`.
    """

    def __init__(
        self,
        types: Sequence[Sequence[DataType]],
        keys: Sequence[Sequence[int]],
        *,
        padded: Sequence[bool],
        retracts: Sequence[bool],
    ) -> None:
        self.input_count = len(types)
        self._types = tuple(tuple(t) for t in types)
        self._keys = tuple(tuple(k) for k in keys)
        self._padded = tuple(padded)
        self._retracts = tuple(retracts)
        self._ttl_ms = (0,) * len(types)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys[input_index]

    def kept(self) -> tuple[Kept, ...]:
        return every_row(self.input_count, self._ttl_ms, ("",) * self.input_count)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        readers = map(ChangeReader, self._types, self._keys, self._retracts, [context] * self.input_count)
        self._sides = [
            Side.open(f"input-{i}", reader, context, self._retracts[i], i) for i, reader in enumerate(readers)
        ]

    def begin_epoch(self) -> None:
        super().begin_epoch()
        for side in self._sides:
            side.begin_epoch()
        self._alone = self._sides[0].reader.empty()

    def process_table(self, input_index: int, table: pa.Table) -> None:
        side = self._sides[input_index]
        change = side.reader.read(table)
        never = side.without_match(change.table, [False] * len(side.keys))
        if never is not None:
            # Rows with NULL in the key have no match, so they need no state.
            if input_index == 0 and all(self._padded[1:]):
                self._alone = change.take(np.flatnonzero(never))
            change = change.take(np.flatnonzero(~never))
        side.change = change.summed() if self._retracts[input_index] else change

    def end_epoch(self) -> None:
        views: list[View] = []
        if any(len(side.change.places) for side in self._sides):
            for index in range(self.input_count):
                self._look_up(index)
            views = [
                _with_nulls(view) if padded else view
                for view, padded in zip(views_of(self._sides, self.context), self._padded, strict=True)
            ]
            for side in self._sides:
                side.store()
        # Tables are made while they are sent on.
        self.output_tables = self._outputs(views)  # type: ignore[assignment]

    def _look_up(self, index: int) -> None:
        """Finds the stored rows that changes of other inputs meet; whether there are any decides about NULLs."""
        side = self._sides[index]
        met = [other.change.places for other in self._sides if other is not side]
        counted = side.change.places if self._padded[index] else side.retracted()
        side.look_up(distinct(np.concatenate(met)), [counted])

    # --- output -------------------------------------------------------------------------------------------

    def _outputs(self, views: Sequence[View]) -> Iterator[pa.Table]:
        alone = self._alone.summed() if self._retracts[0] else self._alone
        for going in [True, False] if any(self._retracts) or any(self._padded) else [False]:
            yield from self._shown_alone(alone, going)
            for first in range(len(views)):
                yield from self._combined(views, first, going)

    def _shown_alone(self, change: Changes, going: bool) -> Iterator[pa.Table]:
        times = np.maximum(-change.weights if going else change.weights, 0)
        for rows in portions(times, _ROWS):
            mine = np.repeat(rows, times[rows])
            pad = [pa.nulls(len(mine), t) for side in self._sides[1:] for t in side.reader.types]
            yield changes_table(change.table.take(pa.array(mine)).columns + pad, len(mine), going)

    def _combined(self, views: Sequence[View], first: int, going: bool) -> Iterator[pa.Table]:
        """Combinations in which a row of `first` has changed, and none of the inputs before it."""
        rows = [_chosen(view, same=index < first, changed=index == first) for index, view in enumerate(views)]
        for found in _combinations([view.codes for view in views], rows, first):
            new = np.prod([view.new[at] for view, at in zip(views, found, strict=True)], axis=0)
            old = np.prod([view.old[at] for view, at in zip(views, found, strict=True)], axis=0)
            times = np.maximum(old - new if going else new - old, 0)
            if not (times == 1).all():
                found = [np.repeat(at, times) for at in found]
            if len(found[0]):
                columns = [
                    column for view, at in zip(views, found, strict=True) for column in _taken(view.table, at)
                ]
                yield changes_table(columns, len(found[0]), going)


def _with_nulls(view: View) -> View:
    """The view with a row of NULLs for each key, behind the others; it is there while the key has no other row."""
    size = len(view.old_totals)
    return View(
        view.table,
        np.concatenate([view.codes, np.arange(size)]),
        np.concatenate([view.old, (view.old_totals == 0).astype(np.int64)]),
        np.concatenate([view.new, (view.new_totals == 0).astype(np.int64)]),
        view.old_totals,
        view.new_totals,
    )


def _taken(table: pa.Table, rows: Ints) -> list[pa.ChunkedArray]:
    """Rows of a view; those behind the end of the table are rows of NULLs."""
    absent = rows >= table.num_rows
    columns: list[pa.ChunkedArray] = table.take(pa.array(rows, mask=absent)).columns
    return columns


def _chosen(view: View, same: bool, changed: bool) -> Ints:
    """Rows that are there before or after the epoch, of those the ones asked for."""
    there = (view.old != 0) | (view.new != 0)
    if same or changed:
        there &= (view.old == view.new) == same
    return np.flatnonzero(there)


def _combinations(codes: Sequence[Ints], rows: Sequence[Ints], first: int) -> Iterator[list[Ints]]:
    """Row numbers, one of each input and all with the same code; beginning with rows of `first`."""
    if not all(map(len, rows)):
        return
    others = [index for index in range(len(rows)) if index != first]
    indexes = {index: ByCode.of(codes[index], rows[index]) for index in others}
    mine = rows[first]
    for index in others:  # a row without a partner somewhere need not meet those of other inputs
        mine = mine[indexes[index].find(codes[first][mine])[1] > 0]
    sums = {index: int(indexes[index].find(codes[first][mine])[1].sum()) for index in others}
    others.sort(key=sums.__getitem__)
    for found in _extended({first: mine}, codes[first][mine], [(i, indexes[i]) for i in others]):
        yield [found[index] for index in range(len(rows))]


def _extended(
    found: dict[int, Ints], codes: Ints, others: Sequence[tuple[int, ByCode]]
) -> Iterator[dict[int, Ints]]:
    """The combinations so far with the rows of further inputs."""
    if not others:
        yield found
        return
    (index, by_code), *rest = others
    for at, partners in partners_of(codes, by_code, _ROWS):
        wider = {known: rows[at] for known, rows in found.items()}
        yield from _extended({**wider, index: partners}, codes[at], rest)
