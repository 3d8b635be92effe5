"""Sliding event-time windows with reduce or aggregate, by shared panes.

A window of 60 s that slides by 1 s overlaps 59 others. Instead of adding an element to 60 windows it is added
to one *pane*, of the length gcd(size, slide), and a window is put together from its panes when it fires:

    panes     |  a  |  b  |  c  |  d  |  e  |          size 3, slide 1
    windows   |-----------------|  a b c
                    |-----------------|  b c d
                          |-----------------|  c d e

Putting together costs about three merges per firing, not one per pane: for each key the panes of the current
window are split in two parts, an older one of which all suffixes are known (`abc`, `bc`, `c`), and a newer
one kept as one value that grows. When the older part is used up, the newer one becomes it (the two-stack
queue of Tangwongsan et al., "General incremental sliding-window aggregation", VLDB 2015). An element that
comes after a window with its pane has fired makes that key start over from the panes.

A key has one timer at a time: the end of its next window. All keys whose windows end together fire in one loop.
Panes are dropped with the last window they are in. They live in keyed state, and so does what is merged of them as
long as the subtask stays in this process (state/panes.py).

Elements reach a window's result in the order of panes rather than of arrival, so the functions have to be
associative, as Flink demands, and commutative if elements of one key come out of order and that matters.
`share_panes=False` of `build_window_operator` keeps the windows apart instead.
"""

from __future__ import annotations

import copy
import pickle
from math import gcd
from typing import Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.operators.dead_letters import bury, bury_what
from penstock.operators.failures import raise_user_error
from penstock.operators.window import WindowOperator
from penstock.operators.window_contents import CombinedContents
from penstock.state.keyed import StoredKeyedBackend
from penstock.state.overlay import UNLOADED, Entry
from penstock.state.panes import KeyPanes, PanesState, PanesStateDescriptor
from penstock.windowing.assigner import require_timestamp
from penstock.windowing.sliding import SlidingEventTimeWindows
from penstock.windowing.windows import TimeWindow

_NO_PANE = 2**63
_FLAT_KEYS = frozenset({str, bytes, int})
_IMMUTABLE = frozenset({int, float, str, bytes, bool, complex, type(None)})
_FLUSH_AT = 20_000


class PaneWindowOperator(WindowOperator):
    """Sliding windows with size >= slide, the default trigger, no evictor, no allowed lateness."""

    assigner: SlidingEventTimeWindows
    contents: CombinedContents
    backend: StoredKeyedBackend

    def open(self) -> None:
        super().open()
        assigner = self.assigner
        self._pane_ms = gcd(assigner.size_ms, assigner.slide_ms)
        descriptor = PanesStateDescriptor(
            "window-panes", self.contents.accumulator_type, self._pane_ms, assigner.offset_ms
        )
        self._state: PanesState = self.backend.get_partitioned_state(descriptor)

    # -- elements ---------------------------------------------------------------------------------------------

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            if values:
                require_timestamp(MIN_TIMESTAMP, self.assigner)
            return
        pane_ms, offset, slot = self._pane_ms, self.assigner.offset_ms, self._state.index
        select, first, add = self.key_selectors[0], self.contents.starter(), self.contents.folder()
        assert select is not None
        entries, find, dirty = self.backend.live_entries, self.backend.find_entry, self._state.dirty
        watermark, since = self.current_watermark, self._first_live_pane()
        start = end = _NO_PANE
        due = chunk = 0
        over = False
        rest = zip(values, timestamps, strict=True)
        while True:
            try:
                for value, time in rest:
                    if not start <= time < end:
                        require_timestamp(time, self.assigner)
                        start = time - (time - offset) % pane_ms
                        end = start + pane_ms
                        over = end - 1 <= watermark
                        due = self._next_window_end(start) - 1
                        chunk = self._state.chunk_of(start)
                    if start < since:
                        self.drop_late(value, time)
                        continue
                    key = select(value)
                    kind = key.__class__
                    entry = entries.get(key) if kind in _FLAT_KEYS else None
                    if entry is None or entry.key_type is not kind:
                        entry = find(key)
                    known = entry.slots[slot]
                    if known is UNLOADED:
                        known = self._state.load(entry, since)
                    panes = known.panes
                    if known.open == start and not over:
                        panes[start] = add(value, panes[start])
                        continue
                    # The pane is new, or this epoch has not changed it yet, or windows have read it.
                    accumulator = panes.get(start)
                    if accumulator is not None:
                        panes[start] = add(value, accumulator)
                    else:
                        panes[start] = first(value)
                        if due < known.timer:
                            known.timer = due
                            self.backend.event_timers.register_entries(due, [entry])
                    known.open = start
                    known.changed.add(chunk)
                    dirty[entry] = None
                    if over:
                        known.forget_merges()
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time)
        self.results.flush()

    def _first_live_pane(self) -> int:
        """The start of the first window that has not fired: elements of earlier panes are late."""
        slide = self.assigner.slide_ms
        before = self.current_watermark + 1 - self.assigner.size_ms
        return before - (before - self.assigner.offset_ms) % slide + slide

    def _first_window_end(self, pane: int) -> int:
        """End of the first window that holds the pane."""
        size, slide, offset = self.assigner.size_ms, self.assigner.slide_ms, self.assigner.offset_ms
        return offset + -((size + offset - pane - self._pane_ms) // slide) * slide + size

    def _next_window_end(self, pane: int) -> int:
        """End of the first window that holds the pane and has not fired."""
        first, slide = self._first_window_end(pane), self.assigner.slide_ms
        behind = self.current_watermark + 2 - first
        return first if behind <= 0 else first + -(-behind // slide) * slide

    # -- firing -----------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        # One time after the other: a key's next timer is registered when its window has fired.
        queue = self.backend.event_timers
        due = queue.next_time()
        while due is not None and due <= watermark:
            for time_ms, entries in queue.pop_entries(due):
                self._fire_windows(TimeWindow(time_ms + 1 - self.assigner.size_ms, time_ms + 1), entries)
            if len(self.results.values) >= _FLUSH_AT:
                self.results.flush()
            due = queue.next_time()
        self.results.flush()

    def _fire_windows(self, window: TimeWindow, entries: list[Entry]) -> None:
        """Fires one window for all keys that have something in it, and moves their timers on."""
        start, end = window
        slide, slot, state = self.assigner.slide_ms, self._state.index, self._state
        next_start, next_end, former_end = start + slide, end + slide, end - slide
        merge, combine, immutable = self.contents.merger(), self._combine, _IMMUTABLE
        dropped = tuple(range(start, next_start, self._pane_ms))
        added = tuple(range(former_end, end, self._pane_ms))
        fired: list[tuple[Entry, Any]] = []
        again: list[Entry] = []
        entry = None
        try:
            for entry in entries:
                known = entry.slots[slot]
                if known is UNLOADED:
                    known = state.load(entry, start)
                panes, starts = known.panes, known.starts
                # The merged parts move on to this window; see the module for what they are.
                while starts and starts[-1] < start:
                    starts.pop()
                    known.suffixes.pop()
                newer = known.newer
                if starts and known.last_end == former_end:
                    for pane in added:
                        if pane in panes:
                            newest = panes[pane]
                            if newer is None:
                                newer = newest
                            elif type(newer) in immutable and type(newest) in immutable:
                                newer = merge(newer, newest)
                            else:
                                newer = combine(newer, newest)
                            known.newer = newer
                    known.last_end = end
                else:
                    self._turn_over(known, start, end)
                    newer = None
                if known.starts:
                    merged = known.suffixes[-1]
                    if newer is not None:
                        is_plain = type(merged) in immutable and type(newer) in immutable
                        merged = merge(merged, newer) if is_plain else combine(merged, newer)
                    fired.append((entry, merged))
                for pane in dropped:
                    panes.pop(pane, None)
                if next_start >= known.drop_at or not panes:
                    state.drop_before(entry, known, next_start)
                if panes and next(iter(panes)) < next_end:
                    known.timer = next_end - 1
                    again.append(entry)
                else:
                    self._skip_to_next(entry, known, next_end)
        except Exception as error:
            at = f"window {window!r} of key {entry.key!r}" if entry else f"window {window!r}"
            raise_user_error(error, self.context, self.function, during=at)
        self._emit(window, fired)
        if again:
            self.backend.event_timers.register_entries(next_end - 1, again)

    def _skip_to_next(self, entry: Entry, known: KeyPanes, next_end: int) -> None:
        """The key may have nothing in the window that follows: its timer goes to the next one with a pane."""
        known.timer = _NO_PANE
        if known.panes:
            known.timer = max(next_end, self._first_window_end(min(known.panes))) - 1
            self.backend.event_timers.register_entries(known.timer, [entry])

    def _emit(self, window: TimeWindow, fired: list[tuple[Entry, Any]]) -> None:
        """Adds the results of a window: of each key its accumulator."""
        get_result, results, immutable = self.contents.finisher(), self.results, _IMMUTABLE
        passes_through = self.window_function.is_pass_through
        values: list[Any] = []
        rest = iter(fired)
        while True:
            try:
                for entry, accumulator in rest:
                    result = get_result(
                        accumulator if type(accumulator) in immutable else isolated(accumulator)
                    )
                    if passes_through:
                        values.append(result)
                    else:
                        self.backend.set_current_entry(entry)
                        self.emit_window(window, (result,))
                        self.window_function.clear(self.window_context.at(window))
                break
            except Exception as error:
                at = f"window {window!r} of key {entry.key!r}"
                bury_what(error, self.context, self.function, at, window.max_timestamp())
        if tuple in set(map(type, values)):  # some may be tagged for a side output
            results.add_all(values, window[1] - 1)
        else:
            results.add_many(values, window[1] - 1)

    def _turn_over(self, known: KeyPanes, start: int, end: int) -> None:
        """The older part is used up, or of no more use: all panes of the window become it."""
        known.forget_merges()
        suffix = None
        for pane in sorted(known.panes, reverse=True):
            if start <= pane < end:
                suffix = self._combine(known.panes[pane], suffix)
                known.starts.append(pane)
                known.suffixes.append(suffix)
        known.last_end = end

    def _combine(self, left: Any, right: Any) -> Any:
        """Both as one, without changing either: they are parts of other windows too."""
        if left is None:
            return right
        if right is None:
            return left
        if type(left) in _IMMUTABLE and type(right) in _IMMUTABLE:
            return self.contents.combine(left, right)
        return self.contents.combine(isolated(left), isolated(right))

    def on_key_finished(self) -> None:
        self._state.clear()


def isolated(accumulator: Any) -> Any:
    """The accumulator, or a copy if a function could change it in place."""
    kind = type(accumulator)
    if kind in _IMMUTABLE or (kind is tuple and all(type(part) in _IMMUTABLE for part in accumulator)):
        return accumulator
    try:
        return pickle.loads(pickle.dumps(accumulator, 5))
    except Exception:  # whatever the object's own pickling raises
        return copy.deepcopy(accumulator)
