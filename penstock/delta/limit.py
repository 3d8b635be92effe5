"""LIMIT without ORDER BY over rows that only come: the first ones to arrive, counted.

For a changing input use `SortLimit` with an empty order.
"""

from __future__ import annotations

from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, Batch, DeltaContext, DeltaOperator
from penstock.delta.kept import Kept
from penstock.state.descriptors import ValueStateDescriptor


class Limit(DeltaOperator):
    """Output rows are input rows. It runs in one subtask."""

    def __init__(self, limit: int, offset: int = 0) -> None:
        self._limit = limit
        self._offset = offset

    def kept(self) -> tuple[Kept, ...]:
        return (Kept("a number of rows", columns=()),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._seen = context.keyed_state.get_partitioned_state(ValueStateDescriptor("seen", Types.LONG()))

    def process(self, input_index: int, batch: Batch) -> None:
        end = self._offset + self._limit
        self.context.keyed_state.set_current_key(())
        seen: int = self._seen.value() or 0
        first, last = max(self._offset - seen, 0), min(end - seen, len(batch))
        for at in range(first, last):
            self.output.append(batch.rows[at], INSERT, batch.watermarks[at] if batch.watermarks else None)
        if seen < end:
            self._seen.update(min(seen + len(batch), end))
