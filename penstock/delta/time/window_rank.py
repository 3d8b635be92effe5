"""Top-N and deduplication per window: only what can still be in the answer is kept until the window ends."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, DeltaContext, Row
from penstock.delta.kept import WINDOW_ENDS, Kept, some_rows
from penstock.delta.rows import sort_key
from penstock.delta.time.attached import AttachedWindowOperator, Window
from penstock.delta.time.clock import to_ms
from penstock.delta.time.windows import AttachedWindow
from penstock.state.descriptors import ValueStateDescriptor


class WindowRank(AttachedWindowOperator):
    """The rows with a ROW_NUMBER from `rank_start` to `rank_end` of each key and window.

    Output row: the input row, then the row number if `emit_rank`. Among equals the earlier row is first.

    Args:
        key_columns: PARTITION BY besides the window.
        order: (column, ascending) pairs.
        zone: The session zone if the windows are over TIMESTAMP_LTZ.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        window: AttachedWindow,
        order: Sequence[tuple[int, bool]],
        *,
        rank_end: int,
        rank_start: int = 1,
        emit_rank: bool = False,
        zone: str | None = None,
    ) -> None:
        if not 1 <= rank_start <= rank_end:
            raise ValidationError(f"row numbers from {rank_start} to {rank_end}", do="ask for 1 or more rows")
        super().__init__((key_columns,), (window,), zone)
        self._order = tuple(order)
        self._rank_start, self._rank_end = rank_start, rank_end
        self._emit_rank = emit_rank

    def kept(self) -> tuple[Kept, ...]:
        return (Kept(some_rows(self._rank_end), until=WINDOW_ENDS, windowed=True),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._sort_key = sort_key(self._order)
        self._best = context.keyed_state.get_partitioned_state(
            ValueStateDescriptor("best", Types.PICKLED_BYTE_ARRAY()), namespaced=True
        )

    def _collect(self, input_index: int, rows: list[Row]) -> None:
        best = sorted([*(self._best.value() or ()), *rows], key=self._sort_key)
        self._best.update(best[: self._rank_end])

    def _fire(self, key: Row, window: Window, watermark: int) -> None:
        best: list[Row] = self._best.value() or []
        self._best.clear()
        for rank, row in enumerate(best, 1):
            if rank >= self._rank_start:
                self.output.append((*row, rank) if self._emit_rank else row, INSERT, watermark)


class WindowDeduplicate(AttachedWindowOperator):
    """The first or last row by time of each key and window; among equals the first or last to arrive."""

    def __init__(
        self,
        key_columns: Sequence[int],
        window: AttachedWindow,
        time_column: int,
        *,
        keep_last: bool,
        zone: str | None = None,
    ) -> None:
        super().__init__((key_columns,), (window,), zone)
        self._time_column = time_column
        self._keep_last = keep_last

    def kept(self) -> tuple[Kept, ...]:
        return (Kept(some_rows(1), until=WINDOW_ENDS, windowed=True),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._kept = context.keyed_state.get_partitioned_state(
            ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()), namespaced=True
        )

    def _collect(self, input_index: int, rows: list[Row]) -> None:
        kept: Row | None = self._kept.value()
        for row in rows:
            time_ms = to_ms(row[self._time_column])
            if kept is None or self._replaces(time_ms, to_ms(kept[self._time_column])):
                kept = row
        self._kept.update(kept)

    def _replaces(self, time_ms: int, kept_ms: int) -> bool:
        return time_ms >= kept_ms if self._keep_last else time_ms < kept_ms

    def _fire(self, key: Row, window: Window, watermark: int) -> None:
        kept = self._kept.value()
        self._kept.clear()
        if kept is not None:
            self.output.append(kept, INSERT, watermark)
