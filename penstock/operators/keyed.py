"""Base of operators on keyed streams: who selects the key, fires timers, and ends a key in BATCH mode.

Timers fire in rounds. A watermark takes everything that is due out of the queue and fires it in time order,
so deleting a timer of that round has no effect, and a timer that `on_timer` registers behind the watermark
waits for the next watermark:

    registered 3, 5        watermark 10 fires 3, 5; on_timer(3) registers 4
                           watermark 11 fires 4

There is no watermark after MAX, so there the rounds repeat until nothing is left.

In BATCH mode elements come sorted by key. While a key's elements are processed the watermark is MIN; when the
key changes it is MAX for a moment, all timers of that key fire, and its state is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from penstock.common.errors import InvariantError
from penstock.common.ids import MAX_WATERMARK, MIN_TIMESTAMP, MIN_WATERMARK
from penstock.functions.output_tag import OutputTag
from penstock.functions.timers import TimeDomain
from penstock.operators.dead_letters import bury, bury_what, whole
from penstock.operators.element_context import ElementContext
from penstock.operators.failures import describe_place
from penstock.operators.function_operator import FunctionOperator, bound
from penstock.operators.results import Results
from penstock.state.backend import KeyedStateBackend, Timer

_NO_KEY = object()


class KeyedOperator(FunctionOperator):
    """Owns key selection and timers; a subclass handles elements (and `on_timer`, if it registers timers).

    Args:
        function: The user's function.
        key_selectors: One per input: value -> key, or None for an input without keys (broadcast).
    """

    stamps_all_results = False
    """Whether what processing-time timers emit has a timestamp of its own (windows: their end)."""

    def __init__(self, function: Any, *key_selectors: Any) -> None:
        super().__init__(function)
        self.key_selectors = tuple(None if s is None else bound(s, "get_key") for s in key_selectors)

    def open(self) -> None:
        self.backend = self._require_backend()
        self._run_key: Any = _NO_KEY
        super().open()
        self.element_context = ElementContext(self.timer_service, self.backend)
        self.results = Results(self.output)

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if self.context.batch_mode and self.key_selectors[input_index] is not None:
            self._process_sorted(input_index, values, timestamps)
        else:
            self.process_elements(input_index, values, timestamps)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Handles elements in order, whatever their keys."""
        raise NotImplementedError

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        """A timer is due; the backend's current key is the timer's. Adds to `self.results`."""
        raise InvariantError(f"{type(self).__name__} registers no timers but one fired")

    def on_key_finished(self) -> None:
        """BATCH mode: the current key has no more elements and its timers have fired."""

    # -- time -----------------------------------------------------------------------------------------------

    def on_watermark(self, watermark: int) -> None:
        if not self.context.batch_mode:
            super().on_watermark(watermark)
        elif watermark == MAX_WATERMARK:
            self._finish_key()
            self.current_watermark = watermark
            self.output.emit_watermark(watermark)

    def advance(self, watermark: int) -> None:
        queue = self.backend.event_timers
        due = queue.next_time()
        while due is not None and due <= watermark:
            self._fire(queue.pop_due(watermark), TimeDomain.EVENT_TIME)
            if watermark != MAX_WATERMARK:
                return
            due = queue.next_time()

    def on_processing_time(self) -> None:
        # A timer is due when its time is over, as in Flink: an element of the same millisecond still comes
        # before it. So a timer for "now" that on_timer registers waits too, or this might never end.
        over = self.context.clock.processing_time_ms - 1
        queue = self.backend.processing_timers
        due = queue.next_time()
        while due is not None and due <= over:
            self._fire(queue.pop_due(over), TimeDomain.PROCESSING_TIME)
            due = queue.next_time()

    def next_processing_timer(self) -> int | None:
        due = self.backend.processing_timers.next_time()
        return None if due is None else due + 1

    def _fire(self, timers: list[Timer], domain: TimeDomain) -> None:
        set_key, rest = self.backend.set_current_key, iter(timers)
        while True:
            try:
                for timer in rest:
                    set_key(timer.key)
                    self.on_timer(timer, domain)
                break
            except Exception as error:
                at = f"a timer at {timer.time_ms} of key {timer.key!r}"
                time_ms = timer.time_ms if domain is TimeDomain.EVENT_TIME else None
                bury_what(error, self.context, self.function, at, time_ms)
        self.results.flush(timestamped=self.stamps_all_results or domain is TimeDomain.EVENT_TIME)

    # -- BATCH mode -----------------------------------------------------------------------------------------

    def _process_sorted(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        select = self.key_selectors[input_index]
        assert select is not None
        keys = [select(value) for value in values]
        start, count = 0, len(values)
        for end in range(1, count + 1):
            if end < count and keys[end] == keys[start]:
                continue
            if self._run_key is _NO_KEY or keys[start] != self._run_key:
                self._finish_key()
                self._run_key = keys[start]
            part = None if timestamps is None else timestamps[start:end]
            self.process_elements(input_index, values[start:end], part)
            start = end

    def _finish_key(self) -> None:
        if self._run_key is _NO_KEY:
            return
        self.current_watermark = MAX_WATERMARK
        self.advance(MAX_WATERMARK)
        while timers := self.backend.processing_timers.pop_due(MAX_WATERMARK):
            self._fire(timers, TimeDomain.PROCESSING_TIME)
        self.backend.set_current_key(self._run_key)
        self.on_key_finished()
        self.results.flush()
        for state in self.runtime_context.keyed_states.values():
            state.clear()
        self.current_watermark = MIN_WATERMARK
        self._run_key = _NO_KEY

    # -- for subclasses -------------------------------------------------------------------------------------

    def run_process(
        self, call: Callable[..., Any], select: Any, values: list[Any], timestamps: list[int] | None
    ) -> None:
        """The hot loop of keyed process functions: set the key, call, take the results."""
        set_key, ctx, results = self.backend.set_current_key, self.element_context, self.results
        out, out_timestamps = results.values, results.timestamps
        append, append_timestamp = out.append, out_timestamps.append
        times = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
        value, timestamp = None, MIN_TIMESTAMP
        call = whole(call, self.context)
        rest = zip(values, times)  # noqa: B905 - `repeat` has no end
        while True:
            try:
                for value, timestamp in rest:
                    set_key(select(value))
                    ctx.timestamp_ms = timestamp
                    items = call(value, ctx)
                    if items is not None:
                        for item in items:
                            if type(item) is tuple and len(item) == 2 and isinstance(item[0], OutputTag):
                                results.add_side(item[0].tag_id, item[1], timestamp)
                            else:
                                append(item)
                                append_timestamp(timestamp)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, None if timestamps is None else timestamp)
        results.flush(timestamped=timestamps is not None)

    def _require_backend(self) -> KeyedStateBackend:
        if self.context.keyed_state is None:
            raise InvariantError(
                f"{type(self).__name__} was set up without keyed state", where=describe_place(self.context)
            )
        return self.context.keyed_state
