"""Makes a proper changelog of upserts and of change data that may come twice.

Per primary key the last row is state. Each change is compared with it:

    comes (+I, +U)   no row stored      +I           goes (-D)       row stored       -D of the stored row
                     another row        -U +U                        none             ignored
                     the same row       nothing      replaced (-U)                    ignored: its +U follows

Only the last change of an epoch counts, so a key changes at most once per epoch, unless every version is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import DELETE, UPDATE_BEFORE, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.emit import emit_change
from penstock.delta.kept import Kept
from penstock.delta.rows import identities, keys_of, with_ttl
from penstock.state.descriptors import ValueStateDescriptor


class ChangelogNormalize(DeltaOperator):
    """Output rows are input rows; a deletion shows the whole row, also if its input had only the key.

    `each_change` shows all changes of a key within an epoch: a temporal join asks for versions in between.
    """

    keeps_columns = True

    def __init__(
        self,
        key_columns: Sequence[int],
        *,
        emit_update_before: bool = True,
        state_ttl_ms: int = 0,
        each_change: bool = False,
    ) -> None:
        self._each_change = each_change
        self._key_columns = tuple(key_columns)
        self._emit_before = emit_update_before
        self._ttl_ms = state_ttl_ms

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        return (Kept("1 row", ttl_ms=self._ttl_ms),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = ValueStateDescriptor("row", Types.PICKLED_BYTE_ARRAY())
        self._row = context.keyed_state.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))

    def process(self, input_index: int, batch: Batch) -> None:
        keys = keys_of(batch.rows, self._key_columns)
        found: dict[Any, tuple[Row, Row | None, int | None]] = {}
        marks: Iterable[int | None] = batch.watermarks if batch.watermarks is not None else repeat(None)
        idents = range(len(keys)) if self._each_change else identities(keys)
        for ident, key, row, kind, mark in zip(idents, keys, batch.rows, batch.kinds, marks):  # noqa: B905
            if kind != UPDATE_BEFORE:
                found[ident] = (key, None if kind == DELETE else row, mark)
        set_key = self.context.keyed_state.set_current_key
        for key, after, mark in found.values():
            set_key(key)
            before: Row | None = self._row.value()
            if after is not None:
                self._row.update(after)
            elif before is not None:
                self._row.clear()
            emit_change(self.output, before, after, self._emit_before, mark)
