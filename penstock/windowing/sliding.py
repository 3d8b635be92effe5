"""Sliding windows: fixed length, a new one each slide; and cumulative ones, which grow step by step.

size 4, slide 2     |-------|           cumulative, max size 4, step 2    |---|
                        |-------|                                         |-------|
                            |-------|                                             |---|
                    0   2   4   6   8                                     0   2   4   6
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.common.time import Duration, Time, to_millis
from penstock.windowing.assigner import WindowAssigner, require_positive, require_timestamp
from penstock.windowing.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger
from penstock.windowing.windows import TimeWindow, TimeWindowSerializer

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer

__all__ = ["CumulativeEventTimeWindows", "SlidingEventTimeWindows", "SlidingProcessingTimeWindows"]


class _SlidingWindows(WindowAssigner):
    """What both kinds share: size, slide and offset in milliseconds."""

    def __init__(self, size: int, slide: int, offset: int) -> None:
        name = type(self).__name__
        require_positive(name, size=size, slide=slide)
        if abs(offset) >= slide:
            raise ValidationError(f"{name}: offset {offset} ms must be less than the slide, {slide} ms")
        self.size_ms = size
        self.slide_ms = slide
        self.offset_ms = offset

    def windows_of(self, time: int) -> list[TimeWindow]:
        """All windows that hold `time`, the latest first."""
        size, slide = self.size_ms, self.slide_ms
        last = time - (time - self.offset_ms) % slide
        return [TimeWindow(start, start + size) for start in range(last, time - size, -slide)]

    def get_window_serializer(self) -> TypeSerializer:
        return TimeWindowSerializer()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size_ms}, {self.slide_ms}, {self.offset_ms})"


class SlidingEventTimeWindows(_SlidingWindows):
    """Windows by the timestamps of elements."""

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingEventTimeWindows:
        """Windows of `size`, one each `slide`, starting at multiples of it plus `offset`."""
        return SlidingEventTimeWindows(
            to_millis(size), to_millis(slide), 0 if offset is None else to_millis(offset)
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """All windows that the element's timestamp lies in; an element without one is refused."""
        require_timestamp(timestamp, self)
        return self.windows_of(timestamp)

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when the watermark reaches the window's end."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Always."""
        return True


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Windows by the time at which elements are processed."""

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingProcessingTimeWindows:
        """Windows of `size`, one each `slide`, starting at multiples of it plus `offset`."""
        return SlidingProcessingTimeWindows(
            to_millis(size), to_millis(slide), 0 if offset is None else to_millis(offset)
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """All windows that the processing time lies in; timestamps are not looked at."""
        return self.windows_of(context.get_current_processing_time())

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when the clock reaches the window's end."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Never."""
        return False


class CumulativeEventTimeWindows(WindowAssigner):
    """Windows with a common start that grow by `step` up to `max_size`, as SQL's CUMULATE."""

    def __init__(self, max_size: int, step: int, offset: int = 0) -> None:
        require_positive("CumulativeEventTimeWindows", max_size=max_size, step=step)
        if max_size % step:
            raise ValidationError(
                f"CumulativeEventTimeWindows: max size {max_size} ms is not a multiple of the step, {step} ms"
            )
        self.max_size_ms = max_size
        self.step_ms = step
        self.offset_ms = offset

    @staticmethod
    def of(
        max_size: Time | Duration, step: Time | Duration, offset: Time | Duration | None = None
    ) -> CumulativeEventTimeWindows:
        """Windows that begin together and grow by a step until they have their full size."""
        return CumulativeEventTimeWindows(
            to_millis(max_size), to_millis(step), 0 if offset is None else to_millis(offset)
        )

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """All steps of the day (or other size) that end behind the timestamp."""
        require_timestamp(timestamp, self)
        start = timestamp - (timestamp - self.offset_ms) % self.max_size_ms
        first = start + (timestamp - start) // self.step_ms * self.step_ms + self.step_ms
        ends = range(first, start + self.max_size_ms + 1, self.step_ms)
        return [TimeWindow(start, end) for end in ends]

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when the watermark reaches the window's end."""
        return EventTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer:
        """How windows are stored."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Always."""
        return True

    def __repr__(self) -> str:
        return f"CumulativeEventTimeWindows({self.max_size_ms}, {self.step_ms}, {self.offset_ms})"
