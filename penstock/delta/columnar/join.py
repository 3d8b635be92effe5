"""The regular join on columns: all changed keys of an epoch meet the other side at once.

What it gives says `delta/join.py`, which works row by row and is the one for residual predicates in outer joins and
for a time to live. Both sides are arrangements; of an epoch each side has a *view* of the rows of changed keys:

    changed rows     how often they were there, and are now              old -> new
    stored rows      those that changed rows of the other side meet      old == new

Then the result changes, for every pair with equal keys, by new * new - old * old, and by as many rows that stand
alone as follow from the other side having been, or being, empty. So each row of the result is told about once,
whatever happened to both sides; what goes comes before what comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.pairs import matches, portions
from penstock.delta.columnar.rows import ChangeReader, Changes, joint_codes
from penstock.delta.columnar.sides import Side, View, applied, changes_table, views_of
from penstock.delta.columns import Ints
from penstock.delta.join import JoinType
from penstock.delta.kept import Kept, every_row
from penstock.state.arranged.runs import distinct

_PAIRS = 1 << 17
"""Pairs that are made at once."""


class ColumnarJoin(ColumnarOperator):
    """Inputs and output as in `RegularJoin`, without residual.

    Args:
        left_types, right_types: The columns of the inputs.
        left_keys, right_keys: The columns that must be equal, pairwise; none for cross joins.
        null_safe: Per key column, whether NULL equals NULL; default: nowhere.
        left_retracts, right_retracts: Whether rows of the input may be taken back. Equal rows of one whose rows only
            come are not summed up; if the other side changes in the same epoch, a row of the result may go and come.
    """

    input_count = 2

    def __init__(
        self,
        join_type: JoinType,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        *,
        left_types: Sequence[DataType],
        right_types: Sequence[DataType],
        null_safe: Sequence[bool] = (),
        left_retracts: bool = True,
        right_retracts: bool = True,
    ) -> None:
        self._type = join_type
        self._keys = (tuple(left_keys), tuple(right_keys))
        self._types = (tuple(left_types), tuple(right_types))
        self._null_safe = tuple(null_safe) or (False,) * len(left_keys)
        self._retracts = (left_retracts, right_retracts)
        self._ttl_ms = (0, 0)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys[input_index]

    def kept(self) -> tuple[Kept, ...]:
        return every_row(2, self._ttl_ms)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        kind = self._type
        self._sides = tuple(
            self._side(i, context, shows, kind is JoinType.SEMI)
            for i, shows in enumerate(
                (kind not in (JoinType.INNER, JoinType.RIGHT), kind in (JoinType.RIGHT, JoinType.FULL))
            )
        )
        self._pairs = kind not in (JoinType.SEMI, JoinType.ANTI)

    def _side(self, index: int, context: DeltaContext, shows_alone: bool, when_matched: bool) -> Side:
        reader = ChangeReader(self._types[index], self._keys[index], self._retracts[index], context)
        side = Side.open(("left", "right")[index], reader, context, self._retracts[index], index)
        side.shows_alone, side.when_matched = shows_alone, when_matched
        return side

    def begin_epoch(self) -> None:
        super().begin_epoch()
        for side in self._sides:
            side.begin_epoch()
        self._alone: list[tuple[int, Changes]] = []

    def process_table(self, input_index: int, table: pa.Table) -> None:
        side = self._sides[input_index]
        change = side.reader.read(table)
        never = side.without_match(change.table, self._null_safe)
        if never is not None:
            # Rows with NULL in the key have no match, so they need no state.
            if side.shows_alone and not side.when_matched:
                self._alone.append((input_index, change.take(np.flatnonzero(never))))
            change = change.take(np.flatnonzero(~never))
        side.change = change.summed() if self._retracts[input_index] else change

    def end_epoch(self) -> None:
        left, right = self._sides
        if len(left.change.places) or len(right.change.places):
            self._look_up(right, left)
            self._look_up(left, right)
            views = views_of(self._sides, self.context)
            for side in self._sides:
                side.store()
        else:
            views = []
        # Tables are made while they are sent on.
        self.output_tables = self._outputs(views)  # type: ignore[assignment]

    # --- what the epoch needs to know ---------------------------------------------------------------------

    def _look_up(self, side: Side, other: Side) -> None:
        """Finds the stored rows that matter; the right side first, whose flips decide what is needed of the left."""
        met = other.change.places
        shown = self._pairs or side.shows_alone
        if not self._pairs and side.shows_alone:
            met = self._flipped(other)
        wanted = distinct(met) if shown else met[:0]
        counted = [side.change.places if other.shows_alone else side.retracted()]
        if other.shows_alone and not shown:
            counted.append(other.change.places)
        side.look_up(wanted, counted)

    def _flipped(self, side: Side) -> Ints:
        """Places of keys of which the side has rows now and had none, or the other way round."""
        change, counted = side.change, side.counted
        codes, stored = joint_codes((side.keys, range(len(side.keys))), (change.table, counted.table))
        delta = applied(side)[1]
        size = 1 + max(codes.max(initial=-1), stored.max(initial=-1))
        before = np.bincount(stored, counted.weights, size)
        after = before + np.bincount(codes, delta, size)
        return change.places[((before > 0) != (after > 0))[codes]]

    # --- output -------------------------------------------------------------------------------------------

    def _outputs(self, views: Sequence[View]) -> Iterator[pa.Table]:
        goes = [True, False] if any(self._retracts) or any(s.shows_alone for s in self._sides) else [False]
        for going in goes:
            for index, change in self._alone:
                change = change.summed() if self._retracts[index] else change
                yield from self._shown(index, change.table, change.weights, going)
            if not views:
                continue
            if self._pairs:
                yield from self._paired(views, going)
            for index, side in enumerate(self._sides):
                if side.shows_alone:
                    own, other = views[index], views[1 - index]
                    was = (other.old_totals == 0) != side.when_matched
                    now = (other.new_totals == 0) != side.when_matched
                    weights = own.new * now[own.codes] - own.old * was[own.codes]
                    yield from self._shown(index, own.table, weights, going)

    def _paired(self, views: Sequence[View], going: bool) -> Iterator[pa.Table]:
        left, right = views
        changed = [np.flatnonzero(view.old != view.new) for view in views]
        same = np.flatnonzero(left.old == left.new)
        every = np.arange(len(right.codes))
        for left_rows, right_rows in ((changed[0], every), (same, changed[1])):
            for a, b in matches(left.codes, left_rows, right.codes, right_rows, _PAIRS):
                weights = left.new[a] * right.new[b] - left.old[a] * right.old[b]
                times = np.maximum(-weights if going else weights, 0)
                if not (times == 1).all():
                    a, b = np.repeat(a, times), np.repeat(b, times)
                if len(a):
                    columns = left.table.take(pa.array(a)).columns + right.table.take(pa.array(b)).columns
                    yield changes_table(columns, len(a), going)

    def _shown(self, index: int, table: pa.Table, weights: Ints, going: bool) -> Iterator[pa.Table]:
        """Rows that stand alone."""
        times = np.maximum(-weights if going else weights, 0)
        for rows in portions(times, _PAIRS):
            mine = np.repeat(rows, times[rows])
            columns = table.take(pa.array(mine)).columns
            if self._pairs:
                pad = [pa.nulls(len(mine), t) for t in self._sides[1 - index].reader.types]
                columns = columns + pad if index == 0 else pad + columns
            yield changes_table(columns, len(mine), going)
