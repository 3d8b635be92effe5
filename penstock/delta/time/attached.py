"""What operators share whose rows carry their window: they collect until the window ends, then answer once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from penstock.common.errors import InvariantError
from penstock.delta.base import DELETE, UPDATE_BEFORE, Batch, DeltaOperator, Row
from penstock.delta.rows import identities, keys_of
from penstock.delta.time.clock import LATE_RECORDS_DROPPED, WindowClock, due_in_order, watermarks_of
from penstock.delta.time.windows import AttachedWindow

Window = tuple[int, int]


class AttachedWindowOperator(DeltaOperator):
    """Groups rows by key and window, drops late ones, and calls `_fire` when a window has ended.

    State of a window lies in its namespace; `_collect` and `_fire` are called with key and namespace set.
    """

    def __init__(
        self, key_columns: Sequence[Sequence[int]], windows: Sequence[AttachedWindow], zone: str | None
    ) -> None:
        self._key_columns = tuple(tuple(columns) for columns in key_columns)
        self._windows = tuple(windows)
        self._clock = WindowClock(zone)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns[input_index]

    @abstractmethod
    def _collect(self, input_index: int, rows: list[Row]) -> None:
        """Takes rows of one key and window into state, in order of arrival."""

    @abstractmethod
    def _fire(self, key: Row, window: Window, watermark: int) -> None:
        """Puts out what the window has to say, with that watermark, and clears its state."""

    def process(self, input_index: int, batch: Batch) -> None:
        require_inserts(batch, type(self).__name__)
        keys = keys_of(batch.rows, self._key_columns[input_index])
        window_of, fires_at = self._windows[input_index].of, self._clock.fires_at
        groups: dict[Any, tuple[Row, Window, list[Row]]] = {}
        for row, key, ident, watermark in zip(
            batch.rows, keys, identities(keys), watermarks_of(batch), strict=True
        ):
            window = window_of(row)
            if fires_at(window[1]) <= watermark:
                self.context.count(LATE_RECORDS_DROPPED)
                continue
            group = groups.get((ident, window))
            if group is None:
                group = groups[ident, window] = (key, window, [])
            group[2].append(row)
        backend = self.context.keyed_state
        for key, window, rows in groups.values():
            backend.set_current_key(key)
            backend.set_current_namespace(window)
            backend.event_timers.register(fires_at(window[1]), window)
            self._collect(input_index, rows)

    def advance(self, watermark: int) -> None:
        backend = self.context.keyed_state
        for timer in due_in_order(backend.event_timers, watermark):
            backend.set_current_key(timer.key)
            backend.set_current_namespace(timer.namespace)
            self._fire(timer.key, timer.namespace, timer.time_ms - 1)


def require_inserts(batch: Batch, operator: str) -> None:
    """The planner gives these operators only inputs that never take rows back."""
    if DELETE in batch.kinds or UPDATE_BEFORE in batch.kinds:
        raise InvariantError(f"{operator} was planned for rows that only come, but one was taken back")
