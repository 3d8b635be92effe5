"""Windows as slices: the pieces of time that windows are put together from.

    HOP(size 3, slide 1)    slices   |a|b|c|d|        windows  [a b c) [b c d) ...
    CUMULATE(size 3, step 1)         |a|b|c|d|                 [a) [a b) [a b c)   [d) ...

A row belongs to exactly one slice, named by its end. TUMBLE is HOP with one slice per window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ValidationError
from penstock.delta.base import Row
from penstock.delta.time.clock import WindowClock, from_ms, to_ms

WINDOW_START, WINDOW_END, WINDOW_TIME = "window_start", "window_end", "window_time"


@dataclass(frozen=True)
class WindowSpec:
    """TUMBLE, HOP or CUMULATE; made by the functions of these names.

    `step_ms` is the length of a slice: the slide of HOP, the step of CUMULATE, the size of TUMBLE.
    """

    size_ms: int
    step_ms: int
    offset_ms: int = 0
    cumulates: bool = False

    @property
    def tumbles(self) -> bool:
        """Whether a window is one slice."""
        return self.size_ms == self.step_ms

    def slice_end(self, time_ms: Any) -> Any:
        """The end of the slice of a time, or of each of an array of times."""
        return time_ms - (time_ms - self.offset_ms) % self.step_ms + self.step_ms

    def window_start(self, window_end: Any) -> Any:
        """The start of the window that ends there; of each of an array of windows."""
        if not self.cumulates:
            return window_end - self.size_ms
        last = window_end - 1
        return last - (last - self.offset_ms) % self.size_ms

    def last_window_end(self, slice_end: Any) -> Any:
        """The end of the last window that a slice belongs to; of each of an array of slices."""
        if self.cumulates:
            return self.window_start(slice_end) + self.size_ms
        return slice_end - self.step_ms + self.size_ms


@dataclass(frozen=True)
class AttachedWindow:
    """The window is in columns already, put there by a window table function or an earlier aggregate."""

    start_column: int
    end_column: int

    def of(self, row: Row) -> tuple[int, int]:
        """The window of a row: (start, end) by the wall clock."""
        return to_ms(row[self.start_column]), to_ms(row[self.end_column])


def tumble(size_ms: int, offset_ms: int = 0) -> WindowSpec:
    _check_positive("size", size_ms)
    return WindowSpec(size_ms, size_ms, offset_ms)


def hop(size_ms: int, slide_ms: int, offset_ms: int = 0) -> WindowSpec:
    _check_positive("slide", slide_ms)
    _check_divides("HOP", "slide", slide_ms, size_ms)
    return WindowSpec(size_ms, slide_ms, offset_ms)


def cumulate(max_size_ms: int, step_ms: int, offset_ms: int = 0) -> WindowSpec:
    _check_positive("step", step_ms)
    _check_divides("CUMULATE", "step", step_ms, max_size_ms)
    return WindowSpec(max_size_ms, step_ms, offset_ms, cumulates=True)


def _check_positive(name: str, value: int) -> None:
    if value <= 0:
        raise ValidationError(f"the {name} of a window must be positive, got {value} ms")


def _check_divides(window: str, name: str, part_ms: int, size_ms: int) -> None:
    if size_ms <= 0 or size_ms % part_ms:
        raise ValidationError(
            f"{window} table function requires that size must be an integral multiple of {name}, "
            f"but got size {size_ms} ms and {name} {part_ms} ms"
        )


def check_properties(properties: Sequence[str]) -> None:
    """Refuses names of window properties that there are not."""
    unknown = set(properties) - {WINDOW_START, WINDOW_END, WINDOW_TIME}
    if unknown:
        raise ValidationError(f"a window has no property {', '.join(sorted(unknown))}")


def window_columns(properties: Sequence[str], start: int, end: int, clock: WindowClock) -> Row:
    """The window properties as columns: start and end by the wall clock, window_time as an instant."""
    values = {
        WINDOW_START: lambda: start,
        WINDOW_END: lambda: end,
        WINDOW_TIME: lambda: clock.epoch(end - 1),
    }
    return tuple([from_ms(values[name]()) for name in properties])
