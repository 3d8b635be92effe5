"""Puts a changelog in the order that a sink with a primary key needs.

After a join or another exchange, the changes of one row of the sink may arrive out of order: the new row before
the old one is taken back. So per primary key all rows that are there are kept, in order of arrival, and the
last of them is the one that the sink shows. A row that goes takes the last row like it with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import UNMATCHED_RETRACTIONS, WEIGHT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.emit import emit_change
from penstock.delta.kept import Kept, every_row
from penstock.delta.rows import canonical_bytes, columns_getter, identities, keys_of, with_ttl
from penstock.state.descriptors import ValueStateDescriptor


class UpsertMaterialize(DeltaOperator):
    """Output rows are input rows.

    Args:
        key_columns: The primary key of the sink.
        input_upsert_key: If the input is identified by these columns, a row that comes replaces the one with
            the same values there, and one that goes is found by them.
        emit_update_before: Off for upsert sinks.
        state_ttl_ms: Keys that long without a change are forgotten; 0: never.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        *,
        input_upsert_key: Sequence[int] | None = None,
        emit_update_before: bool = False,
        state_ttl_ms: int = 0,
    ) -> None:
        self._key_columns = tuple(key_columns)
        self._upsert_key = tuple(input_upsert_key) if input_upsert_key else None
        self._emit_before = emit_update_before
        self._ttl_ms = state_ttl_ms

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        return every_row(ttl_ms=(self._ttl_ms,), until=("",))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = ValueStateDescriptor("rows", Types.PICKLED_BYTE_ARRAY())
        self._rows = context.keyed_state.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))
        self._identity = columns_getter(self._upsert_key) if self._upsert_key else None

    def process(self, input_index: int, batch: Batch) -> None:
        groups: dict[Any, tuple[Row, list[tuple[Row, int]]]] = {}
        keys = keys_of(batch.rows, self._key_columns)
        for ident, key, row, kind in zip(identities(keys), keys, batch.rows, batch.kinds, strict=True):
            groups.setdefault(ident, (key, []))[1].append((row, WEIGHT[kind]))
        for key, changes in groups.values():
            self.context.keyed_state.set_current_key(key)
            self._update_key(changes)

    def _update_key(self, changes: list[tuple[Row, int]]) -> None:
        rows: list[Row] = list(self._rows.value() or ())
        before = rows[-1] if rows else None
        for row, weight in changes:
            if weight > 0:
                self._come(rows, row)
            else:
                self._go(rows, row)
        if rows:
            self._rows.update(rows)
        else:
            self._rows.clear()
        emit_change(self.output, before, rows[-1] if rows else None, self._emit_before)

    def _come(self, rows: list[Row], row: Row) -> None:
        at = self._find(rows, row) if self._identity else None
        if at is None:
            rows.append(row)
        else:
            rows[at] = row

    def _go(self, rows: list[Row], row: Row) -> None:
        at = self._find(rows, row)
        if at is None:
            self.context.count(UNMATCHED_RETRACTIONS)
        else:
            del rows[at]

    def _find(self, rows: list[Row], row: Row) -> int | None:
        """Where the row is, the last one like it; by the input's upsert key if there is one."""
        of = self._identity
        wanted = canonical_bytes(of(row) if of else row)
        for at in range(len(rows) - 1, -1, -1):
            if canonical_bytes(of(rows[at]) if of else rows[at]) == wanted:
                return at
        return None
