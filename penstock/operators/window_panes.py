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

A key has one timer at a time: the end of its next window. Panes are dropped with the last window they are in.
Elements reach a window's result in the order of panes rather than of arrival, so the functions have to be
associative, as Flink demands, and commutative if elements of one key come out of order and that matters.
`share_panes=False` of `build_window_operator` keeps the windows apart instead.
"""

from __future__ import annotations

import copy
import pickle
from bisect import bisect_left
from math import gcd
from typing import Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.common.typeinfo import Types
from penstock.functions.timers import TimeDomain
from penstock.operators.failures import user_error
from penstock.operators.window import WindowOperator
from penstock.operators.window_aligned import EXACT_KEY_TYPES
from penstock.operators.window_contents import CombinedContents
from penstock.state.backend import Timer
from penstock.state.descriptors import MapStateDescriptor
from penstock.windowing.assigner import require_timestamp
from penstock.windowing.sliding import SlidingEventTimeWindows
from penstock.windowing.windows import TimeWindow

_NO_PANE = 2**63
_KEPT_KEYS = 200_000
"""Keys that are kept in memory from epoch to epoch; with more of them all are read from state again."""

_IMMUTABLE = frozenset({int, float, str, bytes, bool, complex, type(None)})


class KeyRef:
    """Stands in a dict for a key that cannot be hashed or equals keys that are not the same (True, 1, 1.0)."""

    __slots__ = ("data", "key")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.data = pickle.dumps(key, 5)

    def __hash__(self) -> int:
        return hash(self.data)

    def __eq__(self, other: object) -> bool:
        return type(other) is KeyRef and self.data == other.data


class KeyPanes:
    """What is known of one key: its panes as of the last epoch, and its merged parts (see the module).

    `starts` and `suffixes` are the older part, oldest first; `newer` is the merged newer part, None if it is
    empty; `last_end` is the end of the window they were made for.
    """

    __slots__ = ("last_end", "newer", "panes", "starts", "suffixes")

    def __init__(self, panes: dict[int, Any]) -> None:
        self.panes = panes
        self.forget_merges()

    def forget_merges(self) -> None:
        self.starts: list[int] = []
        self.suffixes: list[Any] = []
        self.newer: Any = None
        self.last_end = MIN_TIMESTAMP


class PaneWindowOperator(WindowOperator):
    """Sliding windows with size >= slide, the default trigger, no evictor, no allowed lateness."""

    assigner: SlidingEventTimeWindows
    contents: CombinedContents

    def open(self) -> None:
        super().open()
        self._pane_ms = gcd(self.assigner.size_ms, self.assigner.slide_ms)
        accumulator_type = self.contents.accumulator_type or Types.PICKLED_BYTE_ARRAY()
        descriptor = MapStateDescriptor("window-panes", Types.LONG(), accumulator_type)
        self._panes = self.backend.get_partitioned_state(descriptor)
        self._fresh: dict[int, dict[Any, Any]] = {}
        self._keys: dict[Any, KeyPanes] = {}
        self._ended_epoch: int | None = None

    # -- elements ---------------------------------------------------------------------------------------------

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            if values:
                require_timestamp(MIN_TIMESTAMP, self.assigner)
            return
        pane_ms, offset = self._pane_ms, self.assigner.offset_ms
        select, add = self.key_selectors[0], self.contents.folder()
        assert select is not None
        fresh, watermark = self._fresh, self.current_watermark
        start = end = _NO_PANE
        accumulators: dict[Any, Any] = {}
        over = late = False
        value = None
        try:
            for value, time in zip(values, timestamps, strict=True):
                if not start <= time < end:
                    require_timestamp(time, self.assigner)
                    start = time - (time - offset) % pane_ms
                    end = start + pane_ms
                    over = end - 1 <= watermark
                    late = self._last_window_end(start) - 1 <= watermark
                    if not late:
                        accumulators = fresh.setdefault(start, {})
                if late:
                    self.drop_late(value, time)
                    continue
                key = select(value)
                if type(key) not in EXACT_KEY_TYPES:
                    key = KeyRef(key)
                if over and key in self._keys:
                    self._keys[key].forget_merges()
                accumulator = accumulators.get(key)
                if accumulator is None:
                    accumulators[key] = self._first(key, start, value, add)
                else:
                    accumulators[key] = add(value, accumulator)
        except Exception as error:
            raise user_error(error, self.context, self.function, value) from error
        self.results.flush()

    def _first(self, key: Any, pane: int, value: Any, add: Any) -> Any:
        """The accumulator after the epoch's first element for this key and pane."""
        self.backend.set_current_key(key.key if type(key) is KeyRef else key)
        accumulator = self._known(key).panes.get(pane)
        if accumulator is not None:
            return add(value, accumulator)
        self.backend.event_timers.register(self._next_window_end(pane) - 1)
        return self.contents.first(value)

    def _known(self, key: Any) -> KeyPanes:
        """What is known of the backend's current key; read from state if it was not here before."""
        known = self._keys.get(key)
        if known is None:
            known = self._keys[key] = KeyPanes(dict(self._panes.items()))
        return known

    def _last_window_end(self, pane: int) -> int:
        """End of the last window that holds the pane."""
        slide = self.assigner.slide_ms
        return pane - (pane - self.assigner.offset_ms) % slide + self.assigner.size_ms

    def _next_window_end(self, pane: int) -> int:
        """End of the first window that holds the pane and has not fired."""
        size, slide = self.assigner.size_ms, self.assigner.slide_ms
        last = self._last_window_end(pane)
        first = last - (size - 1 - (pane - (last - size))) // slide * slide
        behind = self.current_watermark + 2 - first
        return first if behind <= 0 else first + -(-behind // slide) * slide

    # -- firing -----------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        # One time after the other: a key's next timer is registered when its window has fired.
        queue = self.backend.event_timers
        due = queue.next_time()
        while due is not None and due <= watermark:
            self._fire(queue.pop_due(due), TimeDomain.EVENT_TIME)
            due = queue.next_time()

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        end, slide = timer.time_ms + 1, self.assigner.slide_ms
        key = timer.key if type(timer.key) in EXACT_KEY_TYPES else KeyRef(timer.key)
        window = TimeWindow(end - self.assigner.size_ms, end)
        known = self._known(key)
        if known.last_end != end - slide:
            known.forget_merges()
        accumulator = self._merged(known, key, window)
        if accumulator is not None:
            self.emit_window(window, (self.contents.result(isolated(accumulator)),))
            self.window_function.clear(self.window_context.at(window))
        self._drop_panes(known, key, window[0], window[0] + slide)
        if self._has_panes(known, key, window[0] + slide, end):
            self.backend.event_timers.register(end + slide - 1)
        elif not known.panes:
            del self._keys[key]

    def _merged(self, known: KeyPanes, key: Any, window: TimeWindow) -> Any:
        """The window's accumulator. Moves the merged parts on to this window."""
        start, end = window
        combine = self._combine
        if known.starts:
            for pane in range(known.last_end, end, self._pane_ms):
                accumulator = self._pane(known, key, pane)
                if accumulator is not None:
                    known.newer = combine(known.newer, accumulator)
        known.last_end = end
        at = bisect_left(known.starts, start)
        if at == len(known.starts):
            self._turn_over(known, key, window)
            at = 0
            if not known.starts:
                return None
        older = known.suffixes[at]
        return older if known.newer is None else combine(older, known.newer)

    def _turn_over(self, known: KeyPanes, key: Any, window: TimeWindow) -> None:
        """The older part is used up: all panes of the window become it."""
        starts, suffixes, suffix = [], [], None
        for pane in range(window[1] - self._pane_ms, window[0] - 1, -self._pane_ms):
            accumulator = self._pane(known, key, pane)
            if accumulator is not None:
                suffix = self._combine(accumulator, suffix)
                starts.append(pane)
                suffixes.append(suffix)
        known.starts, known.suffixes, known.newer = starts[::-1], suffixes[::-1], None

    def _pane(self, known: KeyPanes, key: Any, pane: int) -> Any:
        accumulators = self._fresh.get(pane)
        if accumulators is not None:
            accumulator = accumulators.get(key)
            if accumulator is not None:
                return accumulator
        return known.panes.get(pane)

    def _combine(self, left: Any, right: Any) -> Any:
        """Both as one, without changing either: they are parts of other windows too."""
        if left is None:
            return right
        if right is None:
            return left
        return self.contents.combine(isolated(left), isolated(right))

    def _drop_panes(self, known: KeyPanes, key: Any, start: int, next_start: int) -> None:
        """Drops the key's panes before `next_start`."""
        for pane in range(start, next_start, self._pane_ms):
            accumulators = self._fresh.get(pane)
            if accumulators is not None:
                accumulators.pop(key, None)
                if not accumulators:
                    del self._fresh[pane]
            if known.panes.pop(pane, None) is not None:
                self._panes.remove(pane)

    def _has_panes(self, known: KeyPanes, key: Any, start: int, end: int) -> bool:
        """Whether there is anything of the key in [start, end)."""
        if known.starts and known.starts[-1] >= start:
            return True
        return any(self._pane(known, key, pane) is not None for pane in range(start, end, self._pane_ms))

    # -- epochs -----------------------------------------------------------------------------------------------

    def end_epoch(self) -> None:
        set_key, put, keys = self.backend.set_current_key, self._panes.put, self._keys
        for pane, accumulators in self._fresh.items():
            for key, accumulator in accumulators.items():
                set_key(key.key if type(key) is KeyRef else key)
                put(pane, accumulator)
                if key in keys:
                    keys[key].panes[pane] = accumulator
        self._fresh.clear()
        if len(keys) > _KEPT_KEYS:
            keys.clear()
        self._ended_epoch = self.context.clock.epoch
        super().end_epoch()

    def on_key_finished(self) -> None:
        self._fresh.clear()
        self._keys.clear()

    def begin_epoch(self) -> None:
        # What is known of the keys is of use only if this object has seen the epoch before this one, to its end.
        if self._ended_epoch != self.context.clock.epoch - 1:
            self._keys.clear()
        self._ended_epoch = None
        self._fresh.clear()

    def restore(self, states: Any) -> None:
        super().restore(states)
        self._keys.clear()


def isolated(accumulator: Any) -> Any:
    """The accumulator, or a copy if a function could change it in place."""
    kind = type(accumulator)
    if kind in _IMMUTABLE or (kind is tuple and all(type(part) in _IMMUTABLE for part in accumulator)):
        return accumulator
    try:
        return pickle.loads(pickle.dumps(accumulator, 5))
    except Exception:  # whatever the object's own pickling raises
        return copy.deepcopy(accumulator)
