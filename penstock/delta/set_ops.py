"""INTERSECT and EXCEPT, with and without ALL.

Both inputs have the same columns, and a row is its own key: the state is two numbers, how often the row is
left and right. How often it is in the result follows from them:

    INTERSECT ALL   min(l, r)            INTERSECT   1 if l > 0 and r > 0
    EXCEPT ALL      max(l - r, 0)        EXCEPT      1 if l > 0 and r == 0
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import UNMATCHED_RETRACTIONS, WEIGHT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import Kept
from penstock.delta.rows import canonical_bytes, emit_weights, with_ttl
from penstock.state.descriptors import ValueStateDescriptor


class SetOpType(enum.Enum):
    """The four operations."""

    INTERSECT = "intersect"
    INTERSECT_ALL = "intersect all"
    EXCEPT = "except"
    EXCEPT_ALL = "except all"


_RESULT_COUNT: dict[SetOpType, Callable[[int, int], int]] = {
    SetOpType.INTERSECT: lambda left, right: int(left > 0 and right > 0),
    SetOpType.INTERSECT_ALL: min,
    SetOpType.EXCEPT: lambda left, right: int(left > 0 and right == 0),
    SetOpType.EXCEPT_ALL: lambda left, right: max(left - right, 0),
}


class SetOperation(DeltaOperator):
    """Input 0 op input 1; `width` is the number of columns."""

    input_count = 2

    def __init__(self, operation: SetOpType, width: int, *, state_ttl_ms: int = 0) -> None:
        self._operation = operation
        self._width = width
        self._ttl_ms = state_ttl_ms

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return tuple(range(self._width))

    def kept(self) -> tuple[Kept, ...]:
        return (Kept("two numbers", columns=(), ttl_ms=self._ttl_ms),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        descriptor = ValueStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY())
        self._counts = context.keyed_state.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))
        self._result_count = _RESULT_COUNT[self._operation]

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._pending: dict[bytes, list[Any]] = {}

    def process(self, input_index: int, batch: Batch) -> None:
        """Sums the weights of the epoch per row: [row, left, right]."""
        pending, at = self._pending, 1 + input_index
        for row, kind in zip(batch.rows, batch.kinds, strict=True):
            ident = canonical_bytes(row)
            known = pending.get(ident)
            if known is None:
                known = pending[ident] = [row, 0, 0]
            known[at] += WEIGHT[kind]

    def end_epoch(self) -> None:
        changes: list[tuple[Row, int]] = []
        for row, left, right in self._pending.values():
            if left or right:
                change = self._change(row, left, right)
                if change:
                    changes.append((row, change))
        self._pending = {}
        emit_weights(self.output, changes)

    def _change(self, row: Row, left: int, right: int) -> int:
        self.context.keyed_state.set_current_key(row)
        old_left, old_right = self._counts.value() or (0, 0)
        new_left, new_right = old_left + left, old_right + right
        missing = max(-new_left, 0) + max(-new_right, 0)
        if missing:
            self.context.count(UNMATCHED_RETRACTIONS, missing)
            new_left, new_right = max(new_left, 0), max(new_right, 0)
        if new_left or new_right:
            self._counts.update((new_left, new_right))
        else:
            self._counts.clear()
        return self._result_count(new_left, new_right) - self._result_count(old_left, old_right)
