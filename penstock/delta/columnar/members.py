"""The distinct values of a column per key, for COUNT(DISTINCT x): which calls have seen which value.

key · x      bits        call 0: COUNT(DISTINCT x)      call 1: COUNT(DISTINCT x) FILTER (WHERE a)
(a, 7)       01
(a, 9)       11          a bit is set once and stays: rows only come
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import DataType
from penstock.common.group_codes import group_codes
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.hashed_log import PLACE, HashedLog, in_places
from penstock.delta.columns import Ints

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
    """

    def __init__(
        self,
        context: DeltaContext,
        name: str,
        key_types: Sequence[DataType],
        column: int,
        filters: Sequence[int | None],
    ) -> None:
        self._names = [*(f"c{i}" for i in range(len(key_types))), _VALUE]
        self._log = HashedLog(context, name, key_types, self._names)
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
        places = self._log.places(pairs, groups[owner])
        seen: Ints = np.zeros(len(owner), np.int64)
        for rows, found in self._log.find(pairs, places):
            seen[rows] |= np.asarray(found.column(_BITS))
        fresh = bits & ~seen
        self._remember(pairs, places, bits | seen, fresh != 0)
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

    def _remember(self, pairs: pa.Table, places: Ints, bits: Ints, changed: Ints) -> None:
        rows = np.flatnonzero(changed)
        rows = rows[np.argsort(places[rows], kind="stable")]
        if len(rows):
            batch = pairs.take(pa.array(rows)).append_column(_BITS, pa.array(bits[rows]))
            self._log.append(batch.append_column(PLACE, pa.array(places[rows])), self._merged)

    def _merged(self, batches: pa.Table) -> pa.Table:
        """Rows of the same key and value as one, with the bits of all."""
        arranged, begins = in_places(batches, self._names)
        if len(begins) == arranged.num_rows:
            return arranged
        bits = np.bitwise_or.reduceat(np.asarray(arranged.column(_BITS)), begins)
        kept = arranged.take(pa.array(begins))
        return kept.set_column(kept.column_names.index(_BITS), _BITS, pa.array(bits))
