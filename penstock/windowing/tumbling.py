"""Tumbling windows: fixed length, side by side.

    size 5, offset 0    |----a----|----b----|----c----
                        0         5         10

A stagger moves the windows of a subtask by a constant so that not all subtasks fire at the same instant.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.common.time import Duration, Time, to_millis
from penstock.windowing.assigner import WindowAssigner, require_positive, require_timestamp
from penstock.windowing.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger
from penstock.windowing.windows import TimeWindow, TimeWindowSerializer

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer

__all__ = ["TumblingEventTimeWindows", "TumblingProcessingTimeWindows", "WindowStagger"]

_GOLDEN = 0.618033988749895


class WindowStagger(enum.Enum):
    """How far the windows of a subtask are moved."""

    ALIGNED = "ALIGNED"
    """Not at all: all subtasks fire together."""

    RANDOM = "RANDOM"
    """By a part of the size that depends on the subtask; the same after a restart, unlike Flink's."""

    NATURAL = "NATURAL"
    """By how far into a window the first element came, in processing time."""

    def get_stagger_offset(self, current_processing_time: int, size: int, subtask_index: int = 0) -> int:
        """By how many milliseconds the windows of a subtask are moved."""
        if self is WindowStagger.RANDOM:
            return int((subtask_index + 1) * _GOLDEN % 1 * size)
        if self is WindowStagger.NATURAL:
            return current_processing_time % size
        return 0


class _TumblingWindows(WindowAssigner):
    """What both kinds share: size, offset and stagger in milliseconds."""

    def __init__(self, size: int, offset: int, window_stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        name = type(self).__name__
        require_positive(name, size=size)
        if abs(offset) >= size:
            raise ValidationError(f"{name}: offset {offset} ms must be less than the size, {size} ms")
        self.size_ms = size
        self.offset_ms = offset
        self.window_stagger = window_stagger
        self._stagger_offset: int | None = 0 if window_stagger is WindowStagger.ALIGNED else None

    def _window(self, time: int, context: WindowAssigner.WindowAssignerContext) -> Collection[TimeWindow]:
        if self._stagger_offset is None:
            subtask = context.get_runtime_context().get_index_of_this_subtask()
            self._stagger_offset = self.window_stagger.get_stagger_offset(
                context.get_current_processing_time(), self.size_ms, subtask
            )
        size = self.size_ms
        start = time - (time - self.offset_ms - self._stagger_offset) % size
        return (TimeWindow(start, start + size),)

    def get_window_serializer(self) -> TypeSerializer:
        return TimeWindowSerializer()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size_ms}, {self.offset_ms})"


class TumblingEventTimeWindows(_TumblingWindows):
    """Windows by the timestamps of elements."""

    @staticmethod
    def of(
        size: Time | Duration,
        offset: Time | Duration | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingEventTimeWindows:
        """Windows of `size`, starting at multiples of it plus `offset`."""
        return TumblingEventTimeWindows(
            to_millis(size), 0 if offset is None else to_millis(offset), window_stagger
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The window that the element's timestamp lies in; an element without one is refused."""
        require_timestamp(timestamp, self)
        return self._window(timestamp, context)

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when the watermark reaches the window's end."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Always."""
        return True


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Windows by the time at which elements are processed."""

    @staticmethod
    def of(
        size: Time | Duration,
        offset: Time | Duration | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingProcessingTimeWindows:
        """Windows of `size`, starting at multiples of it plus `offset`."""
        return TumblingProcessingTimeWindows(
            to_millis(size), 0 if offset is None else to_millis(offset), window_stagger
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The window that the processing time lies in; timestamps are not looked at."""
        return self._window(context.get_current_processing_time(), context)

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when the clock reaches the window's end."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Never."""
        return False
