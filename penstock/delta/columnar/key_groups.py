"""The key groups of rows in columns: which record of the keyed state a row belongs into.

Keyed state is cut by key groups when the parallelism changes, so operators that keep tables keep one per key group,
under a key that was made for the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.common.codecs import compile_codec
from penstock.common.datatypes import DataType
from penstock.common.errors import InvariantError
from penstock.common.group_codes import group_codes
from penstock.common.key_groups import key_group_for, key_group_range
from penstock.common.key_hashes import can_hash, key_groups, key_hashes
from penstock.delta.base import DeltaContext, Row
from penstock.delta.columns import Ints
from penstock.formats.arrow_rows import RowReader, columns_type
from penstock.state.descriptors import StateDescriptor

_FOREIGN = "a row came to a subtask that does not own its key"


class KeyGroups:
    """The key groups that a subtask owns, and the rows of each.

    Args:
        context: Whose key groups.
        key_types: The types of the key's columns, from which its bytes are made as an exchange makes them.
    """

    def __init__(self, context: DeltaContext, key_types: Sequence[DataType]) -> None:
        self._max_parallelism = context.max_parallelism
        owned = key_group_range(context.subtask_index, context.max_parallelism, context.parallelism)
        self.names = names_of_groups(list(owned), context.max_parallelism)
        self._encode = compile_codec(None).encode_key
        self._reader = RowReader(columns_type(key_types))

    def split(self, table: pa.Table, key_columns: Sequence[int]) -> Iterator[tuple[int, pa.Table]]:
        """The rows of each key group, in their order."""
        return by_group(table, self.of(table, key_columns))

    def of(self, table: pa.Table, key_columns: Sequence[int]) -> Ints:
        """The key group of each row; of keys that Arrow cannot hash, computed once per distinct key."""
        rows = table.num_rows
        if not key_columns:
            return np.full(rows, self._group(()), np.int64)
        columns = [table.column(i) for i in key_columns]
        if all(can_hash(column.type) for column in columns):
            groups: Ints = key_groups(key_hashes(columns, rows), self._max_parallelism).astype(np.int64)
            if not self.names.keys() >= set(np.unique(groups).tolist()):
                raise InvariantError(_FOREIGN)
            return groups
        codes = group_codes(columns, rows)
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        keys = pa.table([c.take(pa.array(first)) for c in columns], names=list(map(str, key_columns)))
        found = [self._group(key) for batch in keys.to_batches() for key in self._reader.rows(batch)]
        return np.array(found, np.int64)[inverse]

    def _group(self, key: Row) -> int:
        group = key_group_for(self._encode(key), self._max_parallelism)
        if group not in self.names:
            raise InvariantError(_FOREIGN)
        return group


def for_groups(
    descriptor: StateDescriptor, columns: Sequence[str] | None = None, newest_by: int | None = None
) -> StateDescriptor:
    """The descriptor of a state that is kept per key group; the rest is for readers of its tables."""
    descriptor.by_group = True
    descriptor.columns = tuple(columns or ())
    descriptor.newest_by = newest_by
    return descriptor


def by_group(table: pa.Table, groups: Ints) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each of their groups, in their order."""
    order = np.argsort(groups, kind="stable")
    arranged = table.take(pa.array(order)).combine_chunks()
    found, starts = np.unique(groups[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    for group, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
        yield group, arranged.slice(start, end - start)


def names_of_groups(groups: Sequence[int], max_parallelism: int) -> dict[int, tuple[int]]:
    """For each key group, in their order, a key that falls into it: the least number."""
    encode, wanted = compile_codec(None).encode_key, set(groups)
    names: dict[int, tuple[int]] = {}
    number = 0
    while len(names) < len(wanted):
        group = key_group_for(encode((number,)), max_parallelism)
        if group in wanted:
            names.setdefault(group, (number,))
        number += 1
    return dict(sorted(names.items()))
