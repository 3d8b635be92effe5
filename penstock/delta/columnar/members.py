"""The distinct values of a column per key, for COUNT(DISTINCT x): which calls have seen which value.

key · x      bits        call 0: COUNT(DISTINCT x)      call 1: COUNT(DISTINCT x) FILTER (WHERE a)
(a, 7)       01
(a, 9)       11          a bit is set once and stays: rows only come

The pairs are an arrangement, so those that do not fit into memory lie on the local disk. When a call sees a value for
the first time and others have seen it already, there is one more row of the pair; the bits of all its rows count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import DataType
from penstock.common.group_codes import group_codes
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.hashed_log import PLACE, HashedLog, same_values
from penstock.delta.columnar.hashing import row_hashes
from penstock.delta.columns import Ints
from penstock.state.arranged.arrangement import Found
from penstock.state.arranged.runs import distinct, places_of

_VALUE, _BITS = "__value", "__bits"
MOST_CALLS = 62
"""Bits of a number."""


class ColumnMembers:
    """The values of one column that calls count.

    Args:
        context: Where the state is.
        name: Its name.
        key_types: The types of the key's columns.
        column: Which column of the input.
        filters: For each call the column that says whether a row counts for it; None if all do.
        key_names: What readers of the state call the key's columns; None if nobody knows.
    """

    def __init__(
        self,
        context: DeltaContext,
        name: str,
        key_types: Sequence[DataType],
        column: int,
        filters: Sequence[int | None],
        key_names: Sequence[str] | None = None,
    ) -> None:
        self._names = [*(f"c{i}" for i in range(len(key_types))), _VALUE]
        names = context.names_of(0)
        columns = None if key_names is None or names is None else [*key_names, names[column], "calls"]
        self._seen = context.keyed_state.get_arrangement(f"{name}-seen", weighted=False, columns=columns)
        self._before: HashedLog | None = None
        if context.keyed_state.has_restored(name):
            self._before = HashedLog(context, name, key_types, self._names)
        self._column = column
        self._filters = tuple(filters)

    def new_values(self, table: pa.Table, keys: pa.Table, of_key: Ints, groups: Ints) -> list[Ints]:
        """For each call how many values came that it had not seen, by key; remembers them.

        Args:
            table: The epoch's rows.
            keys: The keys, c0..
            of_key: For each row of `table` which of the keys it has.
            groups: The key groups of the keys.
        """
        owner, values, bits = self._pairs(table, of_key)
        columns = [column.take(pa.array(owner)) for column in keys.columns]
        pairs = pa.table([*columns, values], names=self._names)
        if self._before is not None:
            self._take_over(self._before)
        places = self._places(pairs, groups[owner])
        fresh = bits & ~self._bits_of(pairs, places, self._seen.find(distinct(places)))
        new = np.flatnonzero(fresh)
        self._remember(pairs.take(pa.array(new)), places[new], fresh[new])
        return [
            np.bincount(owner[(fresh >> call) & 1 == 1], minlength=len(groups)).astype(np.int64)
            for call in range(len(self._filters))
        ]

    def _pairs(self, table: pa.Table, of_key: Ints) -> tuple[Ints, pa.ChunkedArray, Ints]:
        """The key, value and bits of each pair of key and value that a call counts."""
        values = table.column(self._column)
        bits: Ints = np.zeros(table.num_rows, np.int64)
        for call, condition in enumerate(self._filters):
            if condition is None:
                bits |= 1 << call
            else:
                holds = np.asarray(pc.fill_null(table.column(condition), False))
                bits |= np.where(holds, 1 << call, 0)
        if values.null_count:
            bits = np.where(np.asarray(values.is_null()), 0, bits)
        codes = group_codes([values], table.num_rows)
        _, first, inverse = np.unique(
            of_key * (int(codes.max(initial=0)) + 1) + codes, return_index=True, return_inverse=True
        )
        together: Ints = np.zeros(len(first), np.int64)
        np.bitwise_or.at(together, inverse, bits)
        first, together = first[together != 0], together[together != 0]
        return of_key[first], values.take(pa.array(first)), together

    def _places(self, pairs: pa.Table, groups: Ints) -> Ints:
        return places_of(row_hashes([pairs.column(name) for name in self._names], pairs.num_rows), groups)

    def _bits_of(self, pairs: pa.Table, places: Ints, stored: Found) -> Ints:
        """The bits that are stored of each pair. Pairs may share a place, so values are compared."""
        bits: Ints = np.zeros(len(places), np.int64)
        if not len(stored.places):
            return bits
        theirs = stored.table.column(len(self._names)).to_numpy()
        order = np.argsort(places, kind="stable")
        in_order = places[order]
        rows = np.arange(len(stored.places))
        at = np.searchsorted(in_order, stored.places)
        while len(rows):
            there = at < len(in_order)
            there[there] = in_order[at[there]] == stored.places[rows[there]]
            rows, at = rows[there], at[there]
            equal = self._equal(pairs, order[at], stored.table, rows)
            np.bitwise_or.at(bits, order[at[equal]], theirs[rows[equal]])
            rows, at = rows[~equal], at[~equal] + 1  # perhaps the next pair at this place
        return bits

    def _equal(self, pairs: pa.Table, mine: Ints, stored: pa.Table, theirs: Ints) -> Ints:
        equal = np.ones(len(mine), bool)
        left, right = pa.array(mine), pa.array(theirs)
        for number, name in enumerate(self._names):
            equal &= same_values(pairs.column(name).take(left), stored.column(number).take(right))
        return equal

    def _remember(self, pairs: pa.Table, places: Ints, bits: Ints) -> None:
        self._seen.add(pairs.append_column(_BITS, pa.array(bits)), places)

    def _take_over(self, before: HashedLog) -> None:
        """Pairs of a savepoint in which they were a log of tables become rows of the arrangement."""
        for number, batch in before.batches().items():
            before.remove(number)
            bits = np.asarray(batch.column(_BITS))
            pairs = batch.drop_columns([_BITS, PLACE]).select(self._names)
            self._remember(pairs, self._places(pairs, before.key_groups(pairs)), bits)
