"""Flink's window semantics, as plainly as Python can say them: the oracle of `test_window_model.py`.

Elements are kept in one list per key and window; everything is worked out again whenever it is needed. Nothing
here knows of state, timers, batches or epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX = 2**63 - 1


@dataclass
class Case:
    """Windows and what is done with them. `kind` is tumbling, sliding, session or cumulative."""

    kind: str
    size: int
    slide: int = 0
    offset: int = 0
    lateness: int = 0
    early: int | None = None
    """Fire also whenever a window has got this many elements since it last did (CountTrigger)."""
    purge: bool = False


@dataclass
class Model:
    """Feeds elements and watermarks; `results` are (key, start, end, elements, timestamp)."""

    case: Case
    watermark: int = -(2**63)
    windows: dict[tuple[Any, int, int], list[Any]] = field(default_factory=dict)
    counts: dict[tuple[Any, int, int], int] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    late: list[Any] = field(default_factory=list)

    def element(self, key: Any, value: Any, time: int) -> None:
        if self.case.kind == "session":
            added = self._add_to_session(key, value, time)
        else:
            open_windows = [(s, e) for s, e in self._windows_of(time) if self._cleanup(e) > self.watermark]
            for start, end in open_windows:
                self._add(key, start, end, value)
            added = bool(open_windows)
        if not added and time + self.case.lateness <= self.watermark:
            self.late.append(value)

    def advance(self, watermark: int) -> None:
        before, self.watermark = self.watermark, watermark
        due = sorted(
            (end - 1, key, start) for key, start, end in self.windows if before < end - 1 <= watermark
        )
        for last, key, start in due:
            if self.case.early is None:
                self._fire((key, start, last + 1))
        for name in [w for w in self.windows if self._cleanup(w[2]) <= watermark]:
            del self.windows[name]
            self.counts.pop(name, None)

    def _windows_of(self, time: int) -> list[tuple[int, int]]:
        case = self.case
        if case.kind == "tumbling":
            start = time - (time - case.offset) % case.size
            return [(start, start + case.size)]
        if case.kind == "cumulative":
            start = time - (time - case.offset) % case.size
            ends = range(start + case.slide, start + case.size + 1, case.slide)
            return [(start, end) for end in ends if end > time]
        first = time - case.size - 2 * case.slide
        aligned = first - (first - case.offset) % case.slide
        starts = reversed(range(aligned, time + 1, case.slide))  # Flink assigns the latest window first
        return [(start, start + case.size) for start in starts if start <= time < start + case.size]

    def _add_to_session(self, key: Any, value: Any, time: int) -> bool:
        start, end = time, time + self.case.size
        merged: list[tuple[Any, int, int]] = []
        while True:
            touching = [
                w for w in self.windows if w[0] == key and w[1] <= end and w[2] >= start and w not in merged
            ]
            if not touching:
                break
            merged += touching
            start, end = min(start, *(w[1] for w in touching)), max(end, *(w[2] for w in touching))
        if self._cleanup(end) <= self.watermark:
            return False
        # Contents are kept under the earliest window, in the order of the windows.
        elements = [
            element for window in sorted(merged, key=lambda w: w[1]) for element in self.windows.pop(window)
        ]
        count = sum(self.counts.pop(window, 0) for window in merged)
        self.windows[key, start, end] = elements
        self.counts[key, start, end] = count
        self._add(key, start, end, value)
        return True

    def _add(self, key: Any, start: int, end: int, value: Any) -> None:
        name = (key, start, end)
        self.windows.setdefault(name, []).append(value)
        if self.case.early is not None:
            self.counts[name] = self.counts.get(name, 0) + 1
            if self.counts[name] >= self.case.early:
                self.counts[name] = 0
                self._fire(name)
        elif end - 1 <= self.watermark:
            self._fire(name)

    def _fire(self, name: tuple[Any, int, int]) -> None:
        elements = self.windows[name]
        if elements:
            self.results.append((name[0], name[1], name[2], list(elements), name[2] - 1))
        if self.case.purge:
            self.windows[name] = []

    def _cleanup(self, end: int) -> int:
        return min(end - 1 + self.case.lateness, MAX)
