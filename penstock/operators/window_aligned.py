"""Tumbling event-time windows with reduce or aggregate: the same results, far less work per element.

Within an epoch the accumulators of a window are kept in a plain dict, key -> accumulator, so that an element
costs two dict lookups and one call of the user's function. State is read when a key is first seen in a window
and written when the epoch ends or the window fires; timers are registered when the window of a key is new.

    fresh    {window start: {key: accumulator}}       what this epoch has changed

An element of a window that has fired already (allowed lateness) takes the general path, and so do keys of
types whose equality says less than their identity (True == 1 == 1.0).
"""

from __future__ import annotations

from typing import Any

from penstock.common.ids import MAX_TIMESTAMP
from penstock.functions.timers import TimeDomain
from penstock.operators.dead_letters import POISONED, bury
from penstock.operators.window import WindowOperator
from penstock.operators.window_contents import CombinedContents
from penstock.state.backend import Timer
from penstock.windowing.assigner import require_timestamp
from penstock.windowing.tumbling import TumblingEventTimeWindows
from penstock.windowing.windows import TimeWindow

EXACT_KEY_TYPES = frozenset({str, bytes, int, tuple})
_NO_WINDOW = MAX_TIMESTAMP


class AlignedWindowOperator(WindowOperator):
    """Tumbling windows, the default trigger, no evictor, combined contents."""

    assigner: TumblingEventTimeWindows
    contents: CombinedContents

    def open(self) -> None:
        super().open()
        self._fresh: dict[int, dict[Any, Any]] = {}
        self._key_type: type | None = None

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            if values:
                require_timestamp(-(2**63), self.assigner)
            return
        if self._key_type is None and values:
            self._choose_key_type(values[0])
        self._fold(values, timestamps)
        self.results.flush()

    def _choose_key_type(self, value: Any) -> None:
        select = self.key_selectors[0]
        assert select is not None
        kind = type(select(value))
        self._key_type = kind if kind in EXACT_KEY_TYPES else _NoKeyType

    def _fold(self, values: list[Any], timestamps: list[int]) -> None:
        size, offset = self.assigner.size_ms, self.assigner.offset_ms
        select, key_type, add = self.key_selectors[0], self._key_type, self.contents.folder()
        assert select is not None
        fresh, watermark = self._fresh, self.current_watermark
        start = end = _NO_WINDOW
        accumulators: dict[Any, Any] = {}
        over = False
        rest = zip(values, timestamps, strict=True)
        while True:
            try:
                for value, time in rest:
                    if not start <= time < end:
                        require_timestamp(time, self.assigner)
                        start = time - (time - offset) % size
                        end = start + size
                        over = end - 1 <= watermark
                        if not over:
                            accumulators = fresh.setdefault(start, {})
                    key = select(value)
                    if over or type(key) is not key_type:
                        self._add_slowly(key, value, time)
                        continue
                    accumulator = accumulators.get(key)
                    if accumulator is None:
                        accumulators[key] = self._first(key, start, end, value, add)
                    else:
                        accumulators[key] = add(value, accumulator)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time)

    def _add_slowly(self, key: Any, value: Any, time: int) -> None:
        self.backend.set_current_key(key)
        self.add_element(value, time)

    def _first(self, key: Any, start: int, end: int, value: Any, add: Any) -> Any:
        """The accumulator after the epoch's first element for this key and window."""
        window = TimeWindow(start, end)
        self.backend.set_current_key(key)
        self.backend.set_current_namespace(window)
        accumulator = self.contents.state.value()
        if accumulator is not None:
            return add(value, accumulator)
        timers = self.backend.event_timers
        timers.register(end - 1, window)
        if self.allowed_lateness_ms:
            timers.register(self.cleanup_time(window), window)
        return self.contents.first(value)

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        window: TimeWindow = timer.namespace
        accumulator = self._take_fresh(window[0], timer.key)
        if accumulator is None:
            super().on_timer(timer, domain)
            return
        if timer.time_ms == window[1] - 1:
            result = self.evaluated(window, lambda: self.contents.result(accumulator))
            if result is not POISONED:
                self.emit_window(window, (result,))
        self.backend.set_current_namespace(window)
        if timer.time_ms == self.cleanup_time(window):
            self.contents.state.clear()
            self.window_function.clear(self.window_context.at(window))
        else:
            self.contents.state.update(accumulator)

    def _take_fresh(self, start: int, key: Any) -> Any:
        accumulators = self._fresh.get(start)
        if accumulators is None or type(key) is not self._key_type:
            return None
        accumulator = accumulators.pop(key, None)
        if not accumulators:
            del self._fresh[start]
        return accumulator

    def end_epoch(self) -> None:
        self._write_fresh()
        super().end_epoch()

    def on_key_finished(self) -> None:
        self._fresh.clear()

    def _write_fresh(self) -> None:
        backend, update = self.backend, self.contents.state.update
        size = self.assigner.size_ms
        for start, accumulators in self._fresh.items():
            window = TimeWindow(start, start + size)
            for key, accumulator in accumulators.items():
                backend.set_current_key(key)
                backend.set_current_namespace(window)
                update(accumulator)
        self._fresh.clear()

    def begin_epoch(self) -> None:
        self._fresh.clear()  # an epoch that was given up may have left something


class _NoKeyType:
    """No key has this type."""
