"""What the columnar joins know of an input in an epoch: its changed rows, and the stored ones that these meet.

changed rows     how often they were there, and are now              old -> new
stored rows      those that changed rows of other sides meet         old == new
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS, DeltaContext
from penstock.delta.columnar.rows import ChangeReader, Changes, joint_codes
from penstock.delta.columns import Ints, filled, named
from penstock.state.arranged import Arrangement
from penstock.state.arranged.runs import distinct


@dataclass
class Side:
    """One input, and what the epoch knows of it."""

    reader: ChangeReader
    state: Arrangement
    change: Changes
    stored: Changes
    """Rows that changed rows of the other side meet."""
    counted: Changes
    """More rows, of which only key, identity and weight are known."""
    shows_alone: bool = False
    """Whether rows of this side are in the result of a join of two sides alone,"""
    when_matched: bool = False
    """and if so, whether it is the matched ones (semi join) or the others."""

    @property
    def keys(self) -> tuple[int, ...]:
        return self.reader.key_columns

    @classmethod
    def open(
        cls, name: str, reader: ChangeReader, context: DeltaContext, retracts: bool, input_index: int
    ) -> Side:
        columns = context.names_of(input_index)
        state = context.keyed_state.get_arrangement(name, weighted=retracts, columns=columns)
        state.check(reader.schema)
        nothing = reader.empty()
        return cls(reader, state, nothing, nothing, nothing)

    def begin_epoch(self) -> None:
        self.change = self.stored = self.counted = self.reader.empty()

    def without_match(self, table: pa.Table, null_safe: Sequence[bool]) -> Ints | None:
        """Which rows have NULL in the key, where NULL equals nothing; None if there are none."""
        strict = [table.column(c) for c, safe in zip(self.keys, null_safe, strict=True) if not safe]
        missing = [np.asarray(pc.is_null(column)) for column in strict if column.null_count]
        return np.logical_or.reduce(missing) if missing else None

    def retracted(self) -> Ints:
        """Places of rows that go."""
        return self.change.places[self.change.weights < 0]

    def look_up(self, wanted: Ints, counted: Sequence[Ints]) -> None:
        """Finds the stored rows at the places that are wanted, and of the rest what is needed to count them."""
        found = self.state.find(wanted)
        self.stored = Changes(_or_empty(found.table, self), found.places, found.rows, found.weights)
        rest = distinct(np.concatenate(counted), without=wanted)
        keys = self.state.find(rest, self.keys or (0,))
        self.counted = Changes(keys.table, keys.places, keys.rows, keys.weights)

    def store(self) -> None:
        change = self.change
        if not change.weights.all():
            change = change.take(np.flatnonzero(change.weights))
        self.state.add(change.stored(), change.places, change.rows, change.weights)


@dataclass
class View:
    """Rows of one side: their columns, codes of their keys, and how often they were there and are now."""

    table: pa.Table
    codes: Ints
    old: Ints
    new: Ints
    old_totals: Ints
    """How many rows each code had; right for the keys that changed on either side, if the other side looks at it."""
    new_totals: Ints


def views_of(sides: Sequence[Side], context: DeltaContext) -> list[View]:
    """A view of each side, with codes for keys that are the same in all of them."""
    keys, tables = [], []
    for side in sides:
        keys += [side.keys, side.keys, tuple(range(len(side.keys)))]
        tables += [side.change.table, side.stored.table, side.counted.table]
    codes = joint_codes(keys, tables)
    size = 1 + max((int(c.max()) for c in codes if len(c)), default=0)
    views = []
    for index, side in enumerate(sides):
        own, stored, counted = codes[3 * index : 3 * index + 3]
        views.append(_view(side, own, stored, counted, size, context))
    return views


def _view(side: Side, own: Ints, stored: Ints, counted: Ints, size: int, context: DeltaContext) -> View:
    old, delta, unmatched = applied(side)
    if unmatched:
        context.count(UNMATCHED_RETRACTIONS, unmatched)
    before = np.bincount(stored, side.stored.weights, size) + np.bincount(counted, side.counted.weights, size)
    after = before + np.bincount(own, delta, size)
    side.change = Changes(side.change.table, side.change.places, side.change.rows, delta)
    rest = side.stored
    known = _among(rest, side.change)
    if known.any():
        rest, stored = rest.take(np.flatnonzero(~known)), stored[~known]
    weights = rest.weights
    return View(
        pa.concat_tables([side.change.table, rest.table]),
        np.concatenate([own, stored]),
        np.concatenate([old, weights]),
        np.concatenate([old + delta, weights]),
        before,
        after,
    )


def applied(side: Side) -> tuple[Ints, Ints, int]:
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


def _or_empty(table: pa.Table, side: Side) -> pa.Table:
    return table if table.num_columns else side.reader.schema.empty_table()


def changes_table(columns: Sequence[Any], rows: int, going: bool) -> pa.Table:
    kind = DELETE if going else INSERT
    return named([*columns, filled(kind, rows, np.int8), filled(MIN_WATERMARK, rows), filled(0, rows)])
