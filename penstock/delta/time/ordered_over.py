"""OVER (ORDER BY something else than time): a later row may belong before earlier ones and changes their results.

State per partition: its rows, sorted, rows of equal order as they came. An epoch's changes are put in place, and what
the results were and are now is compared, so that a partition costs its size in each epoch that touches it.
"""

from __future__ import annotations

from bisect import insort_right
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import Kept, every_row
from penstock.delta.rows import (
    canonical_bytes,
    consolidate,
    emit_weights,
    group_by_key,
    same_row,
    sort_key,
    with_ttl,
)
from penstock.delta.time.over_functions import FrameFunctions
from penstock.state.descriptors import ValueStateDescriptor


class OrderedOver(DeltaOperator):
    """UNBOUNDED PRECEDING to CURRENT ROW. Output row: the input row, then one column per function.

    Args:
        key_columns: PARTITION BY.
        order: (column, ascending) pairs.
        rows: ROWS; otherwise RANGE, where rows of equal order have the same results.
        functions: As in `EventTimeOver`.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        order: Sequence[tuple[int, bool]],
        rows: bool,
        functions: Sequence[Any],
        *,
        state_ttl_ms: int = 0,
    ) -> None:
        self._key_columns = tuple(key_columns)
        self._order = tuple(order)
        self._rows = rows
        self._specs = tuple(functions)
        self._ttl_ms = state_ttl_ms
        FrameFunctions(self._specs, bounded=False)  # refuses what is not supported when planned

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        return every_row(ttl_ms=(self._ttl_ms,), until=("",))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = ValueStateDescriptor("sorted-rows", Types.PICKLED_BYTE_ARRAY())
        self._sorted = context.keyed_state.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))
        self._functions = FrameFunctions(self._specs, bounded=False)
        self._functions.open(context.function_context)
        self._key = sort_key(self._order)

    def close(self) -> None:
        self._functions.close()

    def process(self, input_index: int, batch: Batch) -> None:
        for key, rows, weights in group_by_key(batch, self._key_columns):
            self.context.keyed_state.set_current_key(key)
            before: list[Row] = self._sorted.value() or []
            after = list(before)
            for at, row in enumerate(rows):
                if weights is None or weights[at] > 0:
                    insort_right(after, row, key=self._key)
                else:
                    _take_out(after, row)
            if after:
                self._sorted.update(after)
            else:
                self._sorted.clear()
            self._emit(self._results(before), self._results(after))

    def _results(self, rows: list[Row]) -> list[Row]:
        accs, results = self._functions.create(), []
        order_of = self._order_values
        if self._rows:
            return [row + self._functions.add_row(accs, row, order_of(row)) for row in rows]
        for order, peers in groupby(rows, key=order_of):
            group = list(peers)
            added = self._functions.add_peers(accs, group, order)
            results += [row + values for row, values in zip(group, added, strict=True)]
        return results

    def _order_values(self, row: Row) -> Row:
        return tuple(row[column] for column, _ in self._order)

    def _emit(self, before: list[Row], after: list[Row]) -> None:
        rows = [*before, *after]
        weights = [-1] * len(before) + [1] * len(after)
        changed = consolidate([canonical_bytes(row) for row in rows], rows, weights) if rows else []
        emit_weights(self.output, ((row, weight) for _, row, weight in changed))


def _take_out(rows: list[Row], gone: Row) -> None:
    for at in range(len(rows) - 1, -1, -1):
        if same_row(rows[at], gone):
            del rows[at]
            return
