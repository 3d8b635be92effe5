"""State that is a log of tables: what an epoch adds is one more table per key group, nothing is rewritten for it.

    key group 7     batch 12 (9,000 rows)   batch 15 (2,100 rows)   batch 16 (40 rows)
    key group 9     batch 12 (8,800 rows)                           batch 16 (37 rows)

A batch has the same number in all key groups. Neighbours of similar size are put together, so there are about as many
batches as the number of rows has binary digits, and a row is written again as often. Whoever owns the log says what
it means that two rows have the same key (`merge`): partial results are added up, newer rows replace older ones.

The batches of a key group are known by number, and by an id that no other table ever has: what is in the state for a
number may change, what an id stands for cannot. So a process that has seen a table once reads and decodes it never
again, also if another process has added batches meanwhile.
"""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.typeinfo import Types
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.key_groups import KeyGroups, for_groups
from penstock.state.descriptors import MapStateDescriptor

Merge = Callable[[pa.Table], pa.Table]

_schemas: dict[bytes, pa.Schema] = {}
"""Schemas by their bytes: reading one costs as much as a small table does."""


class StoredTable:
    """A table as a value of state: pickled as the Arrow messages of its schema and its rows."""

    __slots__ = ("table",)

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Callable[[bytes, bytes], StoredTable], tuple[bytes, bytes]]:
        batch = one_batch(self.table)
        return _read, (batch.schema.serialize().to_pybytes(), batch.serialize().to_pybytes())


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows of a table as one record batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _read(schema_bytes: bytes, data: bytes) -> StoredTable:
    schema = _schemas.get(schema_bytes)
    if schema is None:
        schema = _schemas[schema_bytes] = pa.ipc.read_schema(pa.py_buffer(schema_bytes))
    return StoredTable(pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(data), schema)]))


def same_tables(some: Sequence[StoredTable], others: Sequence[StoredTable]) -> bool:
    """Whether they are the very same objects."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


class TableLog:
    """The log of one operator subtask.

    Args:
        context: Where the state is.
        name: Its name.
        key_columns: The columns that are the key by which the rows are distributed.
        key_types: Their types.
        columns: What readers of the state call the columns; None if nobody knows.
        newest_by: So many first columns are a row's key, of which the newest row counts; None if all rows do.
    """

    def __init__(
        self,
        context: DeltaContext,
        name: str,
        key_columns: Sequence[int],
        key_types: Sequence[DataType],
        columns: Sequence[str] | None = None,
        newest_by: int | None = None,
    ) -> None:
        pickled = Types.PICKLED_BYTE_ARRAY()
        backend = context.keyed_state
        ids, tables = (MapStateDescriptor(n, pickled, pickled) for n in (f"{name}-ids", name))
        self._ids = backend.get_partitioned_state(for_groups(ids))
        self._tables = backend.get_partitioned_state(for_groups(tables, columns, newest_by))
        self._kept: dict[bytes, StoredTable] = {}
        self._set_key = backend.set_current_key
        self._groups = KeyGroups(context, key_types)
        self._key_columns = tuple(key_columns)

    @property
    def any_name(self) -> tuple[int]:
        """A key of this subtask, for timers that belong to no key."""
        return next(iter(self._groups.names.values()))

    def batches(self) -> dict[int, pa.Table]:
        """The batches by number, the oldest first."""
        found: dict[int, list[pa.Table]] = {}
        for stored, number in self._stored():
            found.setdefault(number, []).append(stored.table)
        return {number: pa.concat_tables(found[number]) for number in sorted(found)}

    def version(self) -> list[StoredTable]:
        """Objects that are the same ones as long as the log is what it was when they were asked for before."""
        return [stored for stored, _ in self._stored()]

    def append(self, table: pa.Table, merge: Merge) -> None:
        """Adds a batch, after putting it together with those before it that are not much larger."""
        batches: dict[int, list[pa.Table]] = {}
        for stored, number in self._stored():
            batches.setdefault(number, []).append(stored.table)
        parts, rows = [table], table.num_rows
        for number in sorted(batches, reverse=True):
            before = sum(part.num_rows for part in batches[number])
            if before > 2 * rows:
                break
            self.remove(number)
            parts[:0] = batches[number]
            rows += before
        if len(parts) > 1:
            table = merge(pa.concat_tables(parts))
        if table.num_rows:
            self._put(max(batches, default=0) + 1, table)

    def remove(self, number: int) -> None:
        """Removes a batch."""
        for name in self._groups.names.values():
            self._set_key(name)
            id_ = self._ids.get(number)
            if id_ is not None:
                self._ids.remove(number)
                self._tables.remove(id_)

    def _put(self, number: int, table: pa.Table) -> None:
        for group, mine in self._split(table):
            self._set_key(self._groups.names[group])
            id_ = uuid.uuid4().bytes
            self._kept[id_] = StoredTable(mine)
            self._ids.put(number, id_)
            self._tables.put(id_, self._kept[id_])

    def _split(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        return self._groups.split(table, self._key_columns)

    def _stored(self) -> list[tuple[StoredTable, int]]:
        """All tables with the numbers of their batches."""
        kept: dict[bytes, StoredTable] = {}
        found = []
        for name in self._groups.names.values():
            self._set_key(name)
            for number, id_ in self._ids.items():
                kept[id_] = self._kept.get(id_) or self._tables.get(id_)
                found.append((kept[id_], number))
        self._kept = kept
        return found
