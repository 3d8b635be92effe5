"""Windows: the finite pieces in which a stream is looked at.

    TimeWindow(start, end)    [start, end) in milliseconds; `max_timestamp()` = end − 1 is the last one inside
    CountWindow(id)           the id-th window of a key, counted in elements
    GlobalWindow              everything

A window is a namespace of keyed state, so windows are values: equal ones hash alike and have the same bytes.
Time and count windows are tuples underneath, which makes hashing and comparing them as cheap as it can be in
Python; the window operator does both for every element.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from io import BytesIO
from operator import itemgetter
from typing import Any

from penstock.common.ids import MAX_TIMESTAMP
from penstock.common.serializer import TypeSerializer
from penstock.state.encoding import register_namespace_codec

__all__ = [
    "CountWindow",
    "CountWindowSerializer",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "TimeWindow",
    "TimeWindowSerializer",
    "Window",
]

_TIMES = struct.Struct(">qq")
_ID = struct.Struct(">q")


class Window(ABC):
    """A piece of a stream. Subclass it for windows of your own: hashable, comparable by value, picklable."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last timestamp that still belongs to the window; results carry it."""


class TimeWindow(tuple, Window):  # type: ignore[type-arg]
    """The half-open interval [start, end) of milliseconds.

    >>> TimeWindow(0, 10).max_timestamp()
    9
    >>> TimeWindow(0, 10).intersects(TimeWindow(10, 12)), TimeWindow(0, 10).cover(TimeWindow(10, 12))
    (True, TimeWindow(start=0, end=12))
    """

    __slots__ = ()

    def __new__(cls, start: int, end: int) -> TimeWindow:
        """The times from `start` to just before `end`, in milliseconds."""
        return tuple.__new__(cls, (start, end))

    start: int = property(itemgetter(0))  # type: ignore[assignment]
    end: int = property(itemgetter(1))  # type: ignore[assignment]

    def max_timestamp(self) -> int:
        """The last millisecond that belongs to it: its end less 1."""
        return self[1] - 1  # type: ignore[no-any-return]

    def get_start(self) -> int:
        """The first millisecond of the window."""
        return self[0]  # type: ignore[no-any-return]

    def get_end(self) -> int:
        """The first millisecond after the window."""
        return self[1]  # type: ignore[no-any-return]

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch."""
        return self[0] <= other[1] and self[1] >= other[0]

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""
        return TimeWindow(min(self[0], other[0]), max(self[1], other[1]))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Start of the tumbling window that holds `timestamp`.

        >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
        -10
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Tells `callback.merge(windows, result)` about each group of windows that overlap or touch."""
        group: list[TimeWindow] = []
        covering = None
        for window in sorted(windows, key=itemgetter(0)):
            if covering is not None and covering.intersects(window):
                group.append(window)
                covering = covering.cover(window)
                continue
            if len(group) > 1:
                callback.merge(group, covering)
            group, covering = [window], window
        if len(group) > 1:
            callback.merge(group, covering)

    def __lt__(self, other: Any) -> bool:
        return bool((self[1], self[0]) < (other[1], other[0]))

    def __le__(self, other: Any) -> bool:
        return bool((self[1], self[0]) <= (other[1], other[0]))

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    def __repr__(self) -> str:
        return f"TimeWindow(start={self[0]}, end={self[1]})"


class CountWindow(tuple, Window):  # type: ignore[type-arg]
    """The `id`-th window of a key."""

    __slots__ = ()

    def __new__(cls, id: int) -> CountWindow:
        """The window of this number."""
        return tuple.__new__(cls, (id,))

    id: int = property(itemgetter(0))  # type: ignore[assignment]

    def max_timestamp(self) -> int:
        """The end of all time: it does not end by a clock."""
        return MAX_TIMESTAMP

    def __getnewargs__(self) -> tuple[int]:
        return (self[0],)

    def __repr__(self) -> str:
        return f"CountWindow(id={self[0]})"


class GlobalWindow(Window):
    """The one window that holds all elements of a key."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The one window that all elements of a key belong to."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        """The end of all time: it does not end by a clock."""
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


_GLOBAL = GlobalWindow()


class TimeWindowSerializer(TypeSerializer):
    """Start and end, eight bytes each."""

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Writes start and end, 8 bytes each."""
        stream.write(_TIMES.pack(element[0], element[1]))

    def deserialize(self, stream: BytesIO) -> Any:
        """Reads start and end."""
        return TimeWindow(*_TIMES.unpack(stream.read(_TIMES.size)))


class CountWindowSerializer(TypeSerializer):
    """The id in eight bytes."""

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Writes the number, 8 bytes."""
        stream.write(_ID.pack(element[0]))

    def deserialize(self, stream: BytesIO) -> Any:
        """Reads the number."""
        return CountWindow(*_ID.unpack(stream.read(_ID.size)))


class GlobalWindowSerializer(TypeSerializer):
    """There is only one: a zero byte stands for it."""

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Writes one byte."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> Any:
        """Reads one byte and gives the one window."""
        stream.read(1)
        return _GLOBAL


# How windows become part of a key in the state store; the tags are in checkpoints and must not change.
register_namespace_codec(
    TimeWindow,
    lambda window: _TIMES.pack(window[0], window[1]),
    lambda data: TimeWindow(*_TIMES.unpack(data)),
    "T",
)
register_namespace_codec(
    CountWindow, lambda window: _ID.pack(window[0]), lambda data: CountWindow(*_ID.unpack(data)), "C"
)
register_namespace_codec(GlobalWindow, lambda window: b"", lambda data: _GLOBAL, "G")
