"""Keys and identities of rows that are columns, for operators over arrangements.

Two rows are the same row when SQL says so (`delta/rows.py`): NaN equals NaN, 0.0 differs from -0.0, NULL equals
NULL. Here a row is known by 64 bits over all its columns, within its key: two different rows of one key are taken for
one with a chance of 1 in 2**64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_64_intdigest

from penstock.common.datatypes import DataType
from penstock.common.errors import InvariantError
from penstock.common.group_codes import group_codes
from penstock.common.key_groups import key_group_range
from penstock.common.key_hashes import key_groups, key_hashes
from penstock.delta.base import WEIGHT, DeltaContext
from penstock.delta.columns import HIDDEN, KIND, Ints, in_type
from penstock.delta.rows import canonical_bytes
from penstock.formats.arrow_rows import arrow_type
from penstock.state.arranged.runs import places_of, summed

_NULL = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0x9FB21C651E98DF25)
_WEIGHTS = np.array(WEIGHT, np.int64)


@dataclass(frozen=True)
class Changes:
    """Changes of an input: visible columns, and per row the place of its key, its identity and its weight.

    Without identities (`rows` is empty) rows only come and are not summed up.
    """

    table: pa.Table
    places: Ints
    rows: Ints
    weights: Ints

    def take(self, at: Ints) -> Changes:
        rows = self.rows[at] if len(self.rows) else self.rows
        return Changes(self.table.take(pa.array(at)), self.places[at], rows, self.weights[at])

    def summed(self) -> Changes:
        """The same with one row for all that are the same, in order of place; those with a sum of zero are gone."""
        kept, sums = summed(self.places, self.rows, self.weights)
        if len(kept) == len(self.places) and (kept[1:] > kept[:-1]).all():
            return self
        taken = self.take(kept)
        return Changes(taken.table, taken.places, taken.rows, sums)

    def stored(self) -> pa.Table:
        """What an arrangement needs of the columns: rows that go are known by their identity."""
        if not len(self.rows) or self.weights.min(initial=1) > 0:
            return self.table
        return self.table.take(pa.array(np.arange(len(self.places)), mask=self.weights < 0))


class ChangeReader:
    """Makes `Changes` of tables of changes.

    Args:
        types: The visible columns.
        key_columns: The key, among them.
        weighted: Whether rows may go.
    """

    def __init__(
        self, types: Sequence[DataType], key_columns: Sequence[int], weighted: bool, context: DeltaContext
    ) -> None:
        self.types = [arrow_type(t) for t in types]
        self.key_columns = tuple(key_columns)
        self._weighted = weighted
        self._max_parallelism = context.max_parallelism
        self._groups = key_group_range(context.subtask_index, context.max_parallelism, context.parallelism)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(f"c{i}", t) for i, t in enumerate(self.types)])

    def visible(self, table: pa.Table) -> pa.Table:
        """The columns of the relation."""
        columns = list(map(in_type, table.columns[: -len(HIDDEN)], self.types))
        return pa.table(columns, schema=self.schema)

    def read(self, table: pa.Table) -> Changes:
        table = in_order(table)
        kinds = np.asarray(table.column(KIND))
        visible = self.visible(table)
        weights = _WEIGHTS[kinds]
        if not self._weighted and weights.min(initial=1) < 0:
            raise InvariantError("a row was taken back from an input whose rows only come")
        rows = row_hashes(visible) if self._weighted else np.empty(0, np.uint64)
        return Changes(visible, self.places(visible), rows, weights)

    def empty(self) -> Changes:
        nothing = np.empty(0, np.uint64)
        return Changes(self.schema.empty_table(), nothing, nothing, np.empty(0, np.int64))

    def places(self, table: pa.Table) -> Ints:
        return self.places_of(self.hashes(table))

    def hashes(self, table: pa.Table) -> Ints:
        """The hash of each row's key."""
        return key_hashes([table.column(i) for i in self.key_columns], table.num_rows)

    def places_of(self, hashes: Ints) -> Ints:
        groups = key_groups(hashes, self._max_parallelism)
        if len(groups) and (groups.min() < self._groups[0] or groups.max() > self._groups[-1]):
            raise InvariantError("a row came to a subtask that does not own its key")
        return places_of(hashes, groups)


def in_order(table: pa.Table) -> pa.Table:
    """A table of changes in order of arrival: channels come one after the other."""
    positions = np.asarray(table.column(HIDDEN[2]))
    if len(positions) < 2 or (positions[1:] >= positions[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(positions, kind="stable")))


def row_hashes(table: pa.Table) -> Ints:
    """64 bits per row, equal for the same rows."""
    result = np.zeros(table.num_rows, np.uint64)
    for column in table.columns:
        result ^= _column_hashes(column.combine_chunks())
        result *= _STEP
        result ^= result >> np.uint64(31)
    return result


def _column_hashes(column: pa.Array) -> Ints:
    missing = np.asarray(pc.is_null(column)) if column.null_count else None
    found = _value_hashes(column)
    return found if missing is None else np.where(missing, _NULL, found)


def _value_hashes(column: pa.Array) -> Ints:
    """Numbers are mixed, bytes are hashed, other values are hashed as their canonical bytes. NULL gives anything."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        values = column.cast(pa.binary()).fill_null(b"").to_pylist()
        return np.fromiter(map(xxh3_64_intdigest, values), np.uint64, len(values))
    if pa.types.is_floating(kind):
        numbers = np.asarray(column.cast(pa.float64()).fill_null(0.0))
        return mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    if pa.types.is_decimal128(kind):
        low, high = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)[_span(column)].T
        return mixed(low) ^ mixed(high + _NULL)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return np.array([xxh3_64_intdigest(canonical_bytes(v)) for v in column.to_pylist()], np.uint64)
    return mixed(_integers(column).view(np.uint64))


def _integers(column: pa.Array) -> Ints:
    """Numbers, dates and times as 64-bit integers."""
    if not pa.types.is_integer(column.type):
        column = column.view(pa.int64() if column.type.bit_width == 64 else pa.int32())
    filled = column.fill_null(0) if column.null_count else column
    return np.asarray(filled).astype(np.int64)


def same_rows(left: pa.Table, left_rows: Ints, right: pa.Table, right_rows: Ints) -> Ints:
    """For pairs of rows whether they are the same; looks at a column only where the ones before it agree."""
    same = np.ones(len(left_rows), bool)
    for one, other in zip(left.columns, right.columns, strict=True):
        alive = np.flatnonzero(same)
        if not len(alive):
            break
        hashes = [
            _column_hashes(column.take(pa.array(rows[alive])).combine_chunks())
            for column, rows in ((one, left_rows), (other, right_rows))
        ]
        same[alive] = hashes[0] == hashes[1]
    return same


def _span(column: pa.Array) -> slice:
    return slice(column.offset, column.offset + len(column))


def mixed(values: Ints) -> Ints:
    """The finalizer of SplitMix64: every bit of the input changes half of the output."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def joint_codes(key_columns: Sequence[Sequence[int]], tables: Sequence[pa.Table]) -> list[Ints]:
    """For the rows of each table a number, equal for equal keys; `key_columns` are those of each table."""
    counts = [table.num_rows for table in tables]
    width = len(key_columns[0])
    columns: list[Any] = []
    for at in range(width):
        found = [t.column(keys[at]) for keys, t in zip(key_columns, tables, strict=True) if t.num_rows]
        chunks = [chunk for column in found for chunk in column.chunks]
        columns.append(pa.chunked_array(chunks) if chunks else pa.chunked_array([pa.array([], pa.int64())]))
    codes = group_codes(columns, sum(counts))
    return np.split(codes, np.cumsum(counts)[:-1])
