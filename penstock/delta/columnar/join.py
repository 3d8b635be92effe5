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
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import DataType
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.pairs import matches, portions
from penstock.delta.columnar.rows import ChangeReader, Changes, joint_codes
from penstock.delta.columns import Ints, filled, named
from penstock.delta.join import JoinType
from penstock.delta.kept import Kept, every_row
from penstock.state.arranged import Arrangement
from penstock.state.arranged.runs import distinct

_PAIRS = 1 << 17
"""Pairs that are made at once."""


@dataclass
class _Side:
    """One input, and what the epoch knows of it."""

    reader: ChangeReader
    state: Arrangement
    shows_alone: bool
    """Whether rows of this side are in the result alone,"""
    when_matched: bool
    """and if so, whether it is the matched ones (semi join) or the others."""
    change: Changes
    stored: Changes
    """Rows that changed rows of the other side meet."""
    counted: Changes
    """More rows, of which only key, identity and weight are known."""

    @property
    def keys(self) -> tuple[int, ...]:
        return self.reader.key_columns


@dataclass
class _View:
    """Rows of one side: their columns, codes of their keys, and how often they were there and are now."""

    table: pa.Table
    codes: Ints
    old: Ints
    new: Ints
    old_totals: Ints
    """How many rows each code had; right for the keys that changed on either side, if the other side looks at it."""
    new_totals: Ints


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

    def _side(self, index: int, context: DeltaContext, shows_alone: bool, when_matched: bool) -> _Side:
        reader = ChangeReader(self._types[index], self._keys[index], self._retracts[index], context)
        state = context.keyed_state.get_arrangement(("left", "right")[index], weighted=self._retracts[index])
        nothing = reader.empty()
        state.check(reader.schema)
        return _Side(reader, state, shows_alone, when_matched, nothing, nothing, nothing)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        for side in self._sides:
            side.change = side.stored = side.counted = side.reader.empty()
        self._alone: list[tuple[int, Changes]] = []

    def process_table(self, input_index: int, table: pa.Table) -> None:
        side = self._sides[input_index]
        change = side.reader.read(table)
        never = self._never_matches(side, change.table)
        if never is not None:
            # Rows with NULL in the key have no match, so they need no state.
            if side.shows_alone and not side.when_matched:
                self._alone.append((input_index, change.take(np.flatnonzero(never))))
            change = change.take(np.flatnonzero(~never))
        side.change = change.summed() if self._retracts[input_index] else change

    def _never_matches(self, side: _Side, table: pa.Table) -> Ints | None:
        strict = [table.column(c) for c, safe in zip(side.keys, self._null_safe, strict=True) if not safe]
        missing = [np.asarray(pc.is_null(column)) for column in strict if column.null_count]
        return np.logical_or.reduce(missing) if missing else None

    def end_epoch(self) -> None:
        left, right = self._sides
        if len(left.change.places) or len(right.change.places):
            self._look_up(right, left)
            self._look_up(left, right)
            views = self._views()
            self._store()
        else:
            views = None
        # Tables are made while they are sent on.
        self.output_tables = self._outputs(views)  # type: ignore[assignment]

    # --- what the epoch needs to know ---------------------------------------------------------------------

    def _look_up(self, side: _Side, other: _Side) -> None:
        """Finds the stored rows that matter; the right side first, whose flips decide what is needed of the left."""
        met = other.change.places
        shown = self._pairs or side.shows_alone
        if not self._pairs and side.shows_alone:
            met = self._flipped(other)
        wanted = distinct(met) if shown else met[:0]
        counted = [side.change.places if other.shows_alone else self._retracted(side.change)]
        if other.shows_alone and not shown:
            counted.append(other.change.places)
        found = side.state.find(wanted)
        side.stored = Changes(_or_empty(found.table, side), found.places, found.rows, found.weights)
        rest = distinct(np.concatenate(counted), without=wanted)
        keys = side.state.find(rest, side.keys or (0,))
        side.counted = Changes(keys.table, keys.places, keys.rows, keys.weights)

    def _retracted(self, change: Changes) -> Ints:
        return change.places[change.weights < 0]

    def _flipped(self, side: _Side) -> Ints:
        """Places of keys of which the side has rows now and had none, or the other way round."""
        change, counted = side.change, side.counted
        codes, stored = joint_codes((side.keys, range(len(side.keys))), (change.table, counted.table))
        delta = _applied(side)[1]
        size = 1 + max(codes.max(initial=-1), stored.max(initial=-1))
        before = np.bincount(stored, counted.weights, size)
        after = before + np.bincount(codes, delta, size)
        return change.places[((before > 0) != (after > 0))[codes]]

    def _views(self) -> tuple[_View, _View]:
        keys, tables = [], []
        for side in self._sides:
            keys += [side.keys, side.keys, tuple(range(len(side.keys)))]
            tables += [side.change.table, side.stored.table, side.counted.table]
        codes = joint_codes(keys, tables)
        size = 1 + max((int(c.max()) for c in codes if len(c)), default=0)
        views = []
        for index, side in enumerate(self._sides):
            own, stored, counted = codes[3 * index : 3 * index + 3]
            views.append(self._view(side, own, stored, counted, size))
        return views[0], views[1]

    def _view(self, side: _Side, own: Ints, stored: Ints, counted: Ints, size: int) -> _View:
        old, delta, unmatched = _applied(side)
        if unmatched:
            self.context.count(UNMATCHED_RETRACTIONS, unmatched)
        before = np.bincount(stored, side.stored.weights, size) + np.bincount(
            counted, side.counted.weights, size
        )
        after = before + np.bincount(own, delta, size)
        side.change = Changes(side.change.table, side.change.places, side.change.rows, delta)
        rest = side.stored
        known = _among(rest, side.change)
        if known.any():
            rest, stored = rest.take(np.flatnonzero(~known)), stored[~known]
        weights = rest.weights
        return _View(
            pa.concat_tables([side.change.table, rest.table]),
            np.concatenate([own, stored]),
            np.concatenate([old, weights]),
            np.concatenate([old + delta, weights]),
            before,
            after,
        )

    def _store(self) -> None:
        for side in self._sides:
            change = side.change
            if not change.weights.all():
                change = change.take(np.flatnonzero(change.weights))
            side.state.add(change.stored(), change.places, change.rows, change.weights)

    # --- output -------------------------------------------------------------------------------------------

    def _outputs(self, views: tuple[_View, _View] | None) -> Iterator[pa.Table]:
        goes = [True, False] if any(self._retracts) or any(s.shows_alone for s in self._sides) else [False]
        for going in goes:
            for index, change in self._alone:
                change = change.summed() if self._retracts[index] else change
                yield from self._shown(index, change.table, change.weights, going)
            if views is None:
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

    def _paired(self, views: tuple[_View, _View], going: bool) -> Iterator[pa.Table]:
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
                    yield _changes(columns, len(a), going)

    def _shown(self, index: int, table: pa.Table, weights: Ints, going: bool) -> Iterator[pa.Table]:
        """Rows that stand alone."""
        times = np.maximum(-weights if going else weights, 0)
        for rows in portions(times, _PAIRS):
            mine = np.repeat(rows, times[rows])
            columns = table.take(pa.array(mine)).columns
            if self._pairs:
                pad = [pa.nulls(len(mine), t) for t in self._sides[1 - index].reader.types]
                columns = columns + pad if index == 0 else pad + columns
            yield _changes(columns, len(mine), going)


def _applied(side: _Side) -> tuple[Ints, Ints, int]:
    """How often each changed row was there, how much that changes, and how many went that were not there."""
    change = side.change
    if not len(change.rows):
        return np.zeros(len(change.places), np.int64), change.weights, 0
    old = _weights_of(change, side.stored) + _weights_of(change, side.counted)
    lacking = np.minimum(old + change.weights, 0)
    return old, change.weights - lacking, int(-lacking.sum())


def _weights_of(change: Changes, stored: Changes) -> Ints:
    """The stored weight of each changed row, 0 if it is not there; no row is in either twice."""
    result = np.zeros(len(change.places), np.int64)
    mine, theirs = _same(change, stored)
    result[mine] = stored.weights[theirs]
    return result


def _among(stored: Changes, change: Changes) -> Ints:
    result = np.zeros(len(stored.places), bool)
    if len(change.rows):
        result[_same(change, stored)[1]] = True
    return result


def _same(one: Changes, other: Changes) -> tuple[Ints, Ints]:
    """Numbers of rows that are in both."""
    if not len(one.rows) or not len(other.rows):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    places = np.concatenate([one.places, other.places])
    rows = np.concatenate([one.rows, other.rows])
    order = np.lexsort((rows, places))  # stable: a row of the first stands before that of the other
    equal = (places[order[1:]] == places[order[:-1]]) & (rows[order[1:]] == rows[order[:-1]])
    return order[:-1][equal], order[1:][equal] - len(one.places)


def _or_empty(table: pa.Table, side: _Side) -> pa.Table:
    return table if table.num_columns else side.reader.schema.empty_table()


def _changes(columns: Sequence[Any], rows: int, going: bool) -> pa.Table:
    kind = DELETE if going else INSERT
    return named([*columns, filled(kind, rows, np.int8), filled(MIN_WATERMARK, rows), filled(0, rows)])
