"""GROUP BY a window of rows: every `slide` rows of a key a window begins, and it ends with its last row.

    size 3, slide 2     row  0 1 2 3 4 5 6
                             └─────┘            window 0 answers with row 2
                                 └─────┘        window 1 answers with row 4
                                     └─────┘    window 2 answers with row 6

State per key: how many rows it had, and the accumulators of the windows that have begun. A window that never gets
all its rows never answers, as in Flink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import Kept, results
from penstock.delta.rows import group_by_key
from penstock.delta.time.attached import require_inserts
from penstock.delta.time.slices import Slice, SliceFunctions
from penstock.state.descriptors import ValueStateDescriptor


class RowWindowAggregate(DeltaOperator):
    """Output row: the key columns, then one column per aggregate.

    Args:
        key_columns: Rows are counted per key.
        size: How many rows a window has.
        slide: After how many rows the next one begins; more than `size` leaves rows out.
    """

    def __init__(
        self, key_columns: Sequence[int], size: int, slide: int, aggregates: Sequence[AggSpec]
    ) -> None:
        self._key_columns = tuple(key_columns)
        self._size = size
        self._slide = slide
        self._specs = tuple(aggregates)
        SliceFunctions(self._specs, False)  # refuses what is not supported when the query is planned

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        held = results(spec.function for spec in self._specs)
        return (Kept(f"how many rows, {held} of the windows that have begun", columns=(), ttl_ms=0),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._functions = SliceFunctions(self._specs, False)
        self._functions.open(context.function_context)
        descriptor = ValueStateDescriptor("row-windows", Types.PICKLED_BYTE_ARRAY())
        self._state = context.keyed_state.get_partitioned_state(descriptor)

    def close(self) -> None:
        self._functions.close()

    def process(self, input_index: int, batch: Batch) -> None:
        require_inserts(batch, type(self).__name__)
        for key, rows, _ in group_by_key(batch, self._key_columns):
            self.context.keyed_state.set_current_key(key)
            seen, pieces = self._state.value() or (0, {})
            self._take(key, rows, seen, pieces)
            self._state.update((seen + len(rows), pieces))

    def _take(self, key: Row, rows: Sequence[Row], seen: int, pieces: dict[int, Slice]) -> None:
        """Brings rows into their windows, and answers for those that are full."""
        first = max(0, (seen - self._size) // self._slide + 1)
        for window in range(first, (seen + len(rows) - 1) // self._slide + 1):
            start = window * self._slide - seen
            inside = rows[max(start, 0) : start + self._size]
            if not inside:
                continue
            piece: Any = self._functions.update(pieces.pop(window, None), inside, None)
            if start + self._size <= len(rows):
                self.output.append(key + self._functions.results(piece), INSERT, self.context.watermark)
            else:
                pieces[window] = piece
