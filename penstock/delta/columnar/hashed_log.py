"""A log of tables in which keys are looked up: every batch is sorted by the hash of its rows' names.

    place    key group · 47 bits of hash        of each row, the column `__place`
    find     a binary search per batch and row, then the names themselves are compared

The batches of the key groups, one after the other, are in order of place, so a batch is searched as one array. That
array (8 bytes per row) is made when a batch is first seen; the columns are those of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import DataType
from penstock.common.group_codes import group_codes
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.hashing import row_hashes
from penstock.delta.columnar.key_groups import by_group
from penstock.delta.columnar.table_log import StoredTable, TableLog, same_tables
from penstock.delta.columns import Ints

PLACE = "__place"
_HASH_BITS = 47


@dataclass
class _Batch:
    """A batch and the places of its rows; `stored` tells whether it is still the one in the state."""

    stored: list[StoredTable]
    table: pa.Table
    places: Ints

    def is_of(self, stored: list[StoredTable]) -> bool:
        return same_tables(self.stored, stored)


class HashedLog(TableLog):
    """Rows known by the columns `names`, of which the first are the key.

    Args:
        context: Where the state is.
        name: Its name.
        key_types: The types of the key's columns.
        names: The columns that name a row; tables that are appended have `PLACE` too and are sorted by it.
        columns, newest_by: As in `TableLog`.
    """

    def __init__(
        self,
        context: DeltaContext,
        name: str,
        key_types: Sequence[DataType],
        names: Sequence[str],
        columns: Sequence[str] | None = None,
        newest_by: int | None = None,
    ) -> None:
        super().__init__(context, name, range(len(key_types)), key_types, columns, newest_by)
        self._names = tuple(names)
        self._seen: dict[int, _Batch] = {}

    def places(self, table: pa.Table, groups: Ints) -> Ints:
        """The place of each row; `groups` are the key groups of their keys."""
        hashes = row_hashes([table.column(name) for name in self._names], table.num_rows)
        return (groups << _HASH_BITS) | (hashes >> np.uint64(64 - _HASH_BITS)).astype(np.int64)

    def key_groups(self, table: pa.Table) -> Ints:
        """The key group of each row."""
        return self._groups.of(table, self._key_columns)

    def find(self, table: pa.Table, places: Ints) -> list[tuple[Ints, pa.Table]]:
        """The stored rows with the names of the table's rows: in each batch, from the newest on, which rows of the
        table have one, and those."""
        return [self._find_in(batch, table, places) for batch in self._refreshed()]

    def newest_of(self, table: pa.Table, places: Ints) -> tuple[Ints, pa.Table]:
        """Which of the table's rows have a stored one, and the newest of each, in their order."""
        known, tables = [], []
        missing = np.ones(len(places), bool)
        for rows, found in self.find(table, places):
            first = missing[rows]
            known.append(rows[first])
            tables.append(found.filter(pa.array(first)).drop_columns([PLACE]))
            missing[rows] = False
        rows = np.concatenate(known) if known else np.zeros(0, np.int64)
        order = np.argsort(rows)
        stored = pa.concat_tables(tables) if tables else table.slice(0, 0)
        return rows[order], stored.take(pa.array(order))

    def _refreshed(self) -> list[_Batch]:
        """The batches as they are in the state, the newest first."""
        found: dict[int, list[StoredTable]] = {}
        for stored, number in self._stored():
            found.setdefault(number, []).append(stored)
        seen: dict[int, _Batch] = {}
        for number, parts in found.items():
            known = self._seen.get(number)
            if known is None or not known.is_of(parts):
                table = _in_one_piece(parts)
                known = _Batch(parts, table, np.asarray(table.column(PLACE)))
            seen[number] = known
        self._seen = seen
        return [seen[number] for number in sorted(seen, reverse=True)]

    def _find_in(self, batch: _Batch, table: pa.Table, places: Ints) -> tuple[Ints, pa.Table]:
        rows = np.arange(len(places))
        at = np.searchsorted(batch.places, places)
        mine, theirs = [], []
        while len(rows):
            there = at < len(batch.places)
            there[there] = batch.places[at[there]] == places[rows[there]]
            rows, at = rows[there], at[there]
            if not len(rows):
                break
            equal = self._equal(table, rows, batch.table, at)
            mine.append(rows[equal])
            theirs.append(at[equal])
            rows, at = rows[~equal], at[~equal] + 1  # another row with the same hash
        found = np.concatenate(mine) if mine else rows
        return found, batch.table.take(pa.array(np.concatenate(theirs) if theirs else at))

    def _equal(self, table: pa.Table, rows: Ints, other: pa.Table, at: Ints) -> Ints:
        equal = np.ones(len(rows), bool)
        left, right = pa.array(rows), pa.array(at)
        for name in self._names:
            equal &= same_values(table.column(name).take(left), other.column(name).take(right))
        return equal

    def _split(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        return by_group(table, np.asarray(table.column(PLACE)) >> _HASH_BITS)


def _in_one_piece(parts: Sequence[StoredTable]) -> pa.Table:
    """The tables as one whose columns are not chunked: Arrow copies all chunks of a column to take a row from it.

    The parts become slices of it, so that their rows are in memory once.
    """
    table = pa.concat_tables([part.table for part in parts]).combine_chunks()
    start = 0
    for part in parts:
        rows = part.table.num_rows
        part.table = table.slice(start, rows)
        start += rows
    return table


def same_values(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Ints:
    """Whether the values are the same in each row, NULL and NULL being so."""
    equal = pc.equal(one, other)
    if equal.null_count:
        both = pc.and_(one.is_null(), other.is_null())
        equal = pc.or_(pc.fill_null(equal, False), both)
    found: Ints = np.asarray(equal)
    return found


def in_places(table: pa.Table, names: Sequence[str]) -> tuple[pa.Table, Ints]:
    """The rows in order of place, those of the same name together and in their order; where each name begins."""
    places = np.asarray(table.column(PLACE))
    order = np.argsort(places, kind="stable")
    begins, differs = _beginnings(table, places, order, names)
    if differs:  # names that share a place, perhaps one between two of another
        codes = group_codes([table.column(name) for name in names], table.num_rows)
        order = np.lexsort((codes, places))
        begins, _ = _beginnings(table, places, order, names)
    return table.take(pa.array(order)), begins


def _beginnings(table: pa.Table, places: Ints, order: Ints, names: Sequence[str]) -> tuple[Ints, bool]:
    """Where in that order another name begins, and whether names share a place."""
    again = np.zeros(len(order), bool)
    again[1:] = places[order[1:]] == places[order[:-1]]
    rows = np.flatnonzero(again)
    if not len(rows):
        return np.arange(len(order)), False
    same = np.ones(len(rows), bool)
    one, other = pa.array(order[rows - 1]), pa.array(order[rows])
    for name in names:
        same &= same_values(table.column(name).take(one), table.column(name).take(other))
    again[rows] = same
    return np.flatnonzero(~again), not same.all()


def newest(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Of rows with the same name, the oldest first, the last one; in order of place."""
    arranged, begins = in_places(table, names)
    if len(begins) == arranged.num_rows:
        return arranged
    return arranged.take(pa.array(np.append(begins[1:], arranged.num_rows) - 1))
