"""The contract of columnar operators, and state that is columns too.

Rows that wait for a partner are kept as Arrow tables, one per key group, so that the state can be cut anew when the
parallelism changes. The keyed backend stores values by key; a table is stored under a key made for its group.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.common.codecs import compile_codec
from penstock.common.errors import InvariantError
from penstock.common.group_codes import group_codes
from penstock.common.key_groups import key_group_for, key_group_range
from penstock.common.typeinfo import Types
from penstock.delta.base import Batch, DeltaContext, DeltaOperator
from penstock.delta.columnar.key_groups import for_groups, names_of_groups
from penstock.delta.columns import Ints
from penstock.state.descriptors import ValueStateDescriptor


class ColumnarOperator(DeltaOperator):
    """A delta operator that takes and gives tables of changes (`delta/columns.py`)."""

    def process(self, input_index: int, batch: Batch) -> None:
        raise AssertionError("columnar operators take tables")

    def take_columns(self, input_index: int, table: pa.Table, watermark: int) -> pa.Table:
        self.process_table(input_index, table)
        return table.slice(0, 0)

    @abstractmethod
    def process_table(self, input_index: int, table: pa.Table) -> None:
        """Takes the changes of one input in, in order of arrival."""


class GroupedTables:
    """Tables of rows by key group, in value state; `columns` is what readers of it call their columns."""

    def __init__(self, context: DeltaContext, name: str, columns: Sequence[str] | None = None) -> None:
        backend = context.keyed_state
        descriptor = ValueStateDescriptor(name, Types.PICKLED_BYTE_ARRAY())
        self._state = backend.get_partitioned_state(for_groups(descriptor, columns))
        self._set_key = backend.set_current_key
        self._max_parallelism = context.max_parallelism
        groups = key_group_range(context.subtask_index, context.max_parallelism, context.parallelism)
        self._names = names_of_groups(list(groups), context.max_parallelism)
        self._known: dict[int, pa.Table | None] = {}
        self._encode = compile_codec(None).encode_key

    def load(self) -> pa.Table | None:
        """All rows; None if there are none."""
        for group, name in self._names.items():
            self._set_key(name)
            stored = self._state.value()
            self._known[group] = None if stored is None else pa.ipc.open_stream(stored).read_all()
        tables = [table for table in self._known.values() if table is not None]
        return pa.concat_tables(tables) if tables else None

    def store(self, table: pa.Table | None, key_columns: Sequence[int]) -> None:
        """Replaces all rows by these."""
        by_group = {} if table is None or not table.num_rows else self._split(table, key_columns)
        for group, name in self._names.items():
            mine = by_group.get(group)
            self._set_key(name)
            if mine is not None:
                self._state.update(_to_bytes(mine))
            elif self._known.get(group) is not None:
                self._state.clear()

    def _split(self, table: pa.Table, key_columns: Sequence[int]) -> dict[int, pa.Table]:
        groups = self._groups(table, key_columns)
        order = np.argsort(groups, kind="stable")
        arranged = table.take(pa.array(order))
        found, starts = np.unique(groups[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        return {
            int(group): arranged.slice(start, end - start)
            for group, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True)
        }

    def _groups(self, table: pa.Table, key_columns: Sequence[int]) -> Ints:
        """The key group of each row, computed once per distinct key."""
        columns = [table.column(i) for i in key_columns]
        codes = group_codes(columns, table.num_rows)
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        rows = zip(*(column.take(pa.array(first)).to_pylist() for column in columns), strict=True)
        of_key = [key_group_for(self._encode(row), self._max_parallelism) for row in rows]
        if not self._names.keys() >= set(of_key):
            raise InvariantError("a row came to a subtask that does not own its key")
        return np.array(of_key, np.int64)[inverse]


def _to_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue()
