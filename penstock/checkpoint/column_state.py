"""State that SQL operators keep in columns, for reading: the rows of joins, Top-N, deduplication and GROUP BY.

    arrangement      rows by the place of their key; what came and went is summed up
    tables           one by key group, or a log of them, in batches. Where the newest row of a key counts only that is
                     there, else all are, with the number of their `batch`: those of a higher one replace or add to
                     those of a lower one

Columns are called what the query calls them, c0, c1, … where it computes them or nobody knows: savepoints of before
names were kept, for one. Types are those of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.checkpoint.contents import KeyedShare, OperatorContents
from penstock.checkpoint.entries import KeyedStateView
from penstock.common.datatypes import DataType, DataTypes
from penstock.common.group_codes import group_codes
from penstock.formats.arrow_rows import arrow_type
from penstock.formats.arrow_types import from_arrow_type
from penstock.state.arranged.runs import PLACE, ROW, WEIGHT, Chunk, Run, merged_chunks
from penstock.state.schema import ARRANGEMENT, StateSchema

_HIDDEN = frozenset({PLACE, ROW, WEIGHT, "__kind", "__wm", "__pos"})
_IDS = "-ids"
"""Ends the name of the state that knows the batches of a log."""
_BATCH = "batch"
_NUMBERED = re.compile(r"c\d+")


def is_in_columns(schema: StateSchema | None) -> bool:
    """Whether a state is kept in columns."""
    if schema is None:
        return False
    return schema.kind == ARRANGEMENT or (schema.by_group and not schema.name.endswith(_IDS))


class ColumnStateView:
    """One such state of an operator; picklable.

    Args:
        operator: Of a checkpoint or savepoint.
        state: A state for which `is_in_columns`.
        schemas: What is known about the operator's states, if it has been read already.
    """

    def __init__(
        self, operator: OperatorContents, state: str, schemas: dict[bytes, StateSchema] | None = None
    ) -> None:
        self.operator = operator
        self.state = state
        self._schemas = operator.schemas() if schemas is None else schemas
        self._schema = self._schemas[state.encode()]

    @property
    def shares(self) -> tuple[KeyedShare, ...]:
        return self.operator.shares

    @cached_property
    def schema(self) -> pa.Schema | None:
        """The columns, which the first rows tell that are found; None if there are none."""
        for share in self.shares:
            for table in self._arranged(share) if self._is_arrangement else self._with_batches(share):
                return self._shown(table.slice(0, 0)).schema
        return None

    def table(self, share: KeyedShare) -> pa.Table | None:
        """The rows of a share; None if it has none."""
        table = self._summed(share) if self._is_arrangement else self._log(share)
        return None if table is None else self._shown(table)

    # --- arrangements -------------------------------------------------------------------------------------

    @property
    def _is_arrangement(self) -> bool:
        return self._schema.kind == ARRANGEMENT

    def _arranged(self, share: KeyedShare) -> Iterator[pa.Table]:
        for _, _, stream in share.arranged(self.state):
            with pa.ipc.open_stream(pa.py_buffer(stream)) as reader:
                yield reader.read_all().combine_chunks()

    def _summed(self, share: KeyedShare) -> pa.Table | None:
        """The rows that are there, as often as they are."""
        groups = share.first_key_group, share.last_key_group
        runs = [Run("", (Chunk(table),)).within(*groups) for table in self._arranged(share)]
        runs = [run for run in runs if run.chunks]
        tables = [chunk.table for chunk in merged_chunks(runs)] if runs else []
        if not tables:
            return None
        table = pa.concat_tables(tables)
        if WEIGHT in table.column_names:
            times = np.maximum(np.asarray(table.column(WEIGHT)), 0)
            table = table.take(pa.array(np.repeat(np.arange(len(times)), times)))
        return table

    # --- logs of tables -----------------------------------------------------------------------------------

    def _log(self, share: KeyedShare) -> pa.Table | None:
        parts = list(self._with_batches(share))
        if not parts:
            return None
        table = pa.concat_tables(parts, promote_options="default")
        return table if self._schema.newest_by is None else _newest(table, self._schema.newest_by)

    def _with_batches(self, share: KeyedShare) -> Iterator[pa.Table]:
        """The tables of a share, the oldest batch first, whose number is a column where it says something."""
        for table, number in sorted(self._logged(share), key=lambda logged: logged[1]):
            if self._has_batches and self._schema.newest_by is None:
                numbers = pa.repeat(pa.scalar(number, pa.int64()), table.num_rows)
                table = table.append_column(_BATCH, numbers)
            yield table

    def _logged(self, share: KeyedShare) -> Iterator[tuple[pa.Table, int]]:
        """The tables with the numbers of their batches, in any order."""
        numbers: dict[Any, int] = {}
        if self._has_batches:
            ids = KeyedStateView(self.operator, f"{self.state}{_IDS}", schemas=self._schemas)
            numbers = {entry.value: entry.map_key for entry in ids.entries(share)}
        view = KeyedStateView(self.operator, self.state, schemas=self._schemas)
        for entry in view.entries(share):
            yield _stored(entry.value), numbers.get(entry.map_key, 0)

    @property
    def _has_batches(self) -> bool:
        return f"{self.state}{_IDS}".encode() in self._schemas

    # --- columns ------------------------------------------------------------------------------------------

    def _shown(self, table: pa.Table) -> pa.Table:
        kept = [name for name in table.column_names if name not in _HIDDEN]
        columns = [table.column(name) for name in kept]
        columns = [column.cast(arrow_type(column_type(column.type))) for column in columns]
        return pa.table(columns, names=_told_apart(self._names(kept)))

    def _names(self, stored: Sequence[str]) -> list[str]:
        """Names belong to the columns c0, c1, … in their order; what an operator adds of its own has a name."""
        known = iter(self._schema.columns)
        found = []
        for column in stored:
            name = next(known, "") if _NUMBERED.fullmatch(column) else ""
            found.append(name if name.isidentifier() else column.removeprefix("__"))
        return found


def column_type(stored: pa.DataType) -> DataType:
    """The SQL type of a column."""
    if pa.types.is_timestamp(stored) and stored.tz:
        return DataTypes.TIMESTAMP_LTZ(6)
    return from_arrow_type(stored)


def _newest(table: pa.Table, key_width: int) -> pa.Table:
    """The last row of each key."""
    rows = table.num_rows
    codes = group_codes(table.columns[:key_width], rows)
    _, from_behind = np.unique(codes[::-1], return_index=True)
    return table.take(pa.array(np.sort(rows - 1 - from_behind)))


def _stored(value: Any) -> pa.Table:
    """A table as operators keep it: an object that holds it, or its Arrow stream."""
    if hasattr(value, "table"):
        return value.table
    with pa.ipc.open_stream(pa.py_buffer(value)) as reader:
        return reader.read_all()


def _told_apart(names: Sequence[str]) -> list[str]:
    """No two the same, whatever the case, as Flink tells columns of a result apart.

    >>> _told_apart(["id", "name", "ID", "id0"])
    ['id', 'name', 'ID0', 'id00']
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        chosen, number = name, 0
        while chosen.lower() in taken:
            chosen, number = f"{name}{number}", number + 1
        taken.add(chosen.lower())
        found.append(chosen)
    return found
