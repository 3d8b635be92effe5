"""Session windows last as long as elements follow each other within a gap; they merge when they touch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.common.time import Duration, Time, to_millis
from penstock.windowing.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
    gap_function,
    require_positive,
    require_timestamp,
)
from penstock.windowing.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger
from penstock.windowing.windows import TimeWindow, TimeWindowSerializer

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
]

GapExtractor = SessionWindowTimeGapExtractor | Callable[[Any], int]


class _SessionWindows(MergingWindowAssigner):
    """What all session assigners share: an element's own window, and merging."""

    def gap_of(self, element: Any) -> int:
        raise NotImplementedError

    def merge_windows(self, windows: Iterable[Any], callback: MergingWindowAssigner.MergeCallback) -> None:
        TimeWindow.merge_windows(windows, callback)

    def get_window_serializer(self) -> TypeSerializer:
        return TimeWindowSerializer()


class _EventTimeSessions(_SessionWindows):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        require_timestamp(timestamp, self)
        return (TimeWindow(timestamp, timestamp + self.gap_of(element)),)

    def get_default_trigger(self, env: Any) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class _ProcessingTimeSessions(_SessionWindows):
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        now = context.get_current_processing_time()
        return (TimeWindow(now, now + self.gap_of(element)),)

    def get_default_trigger(self, env: Any) -> Trigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class _FixedGap:
    """The same gap for every element."""

    def __init__(self, session_gap: int) -> None:
        require_positive(type(self).__name__, session_gap=session_gap)
        self.session_gap_ms = session_gap

    def gap_of(self, element: Any) -> int:
        """The same gap for every element, in milliseconds."""
        return self.session_gap_ms

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap_ms})"


class _DynamicGap:
    """The gap is asked of each element."""

    def __init__(self, session_window_time_gap_extractor: GapExtractor) -> None:
        self.extractor = session_window_time_gap_extractor

    def gap_of(self, element: Any) -> int:
        """The gap that the extractor says for an element, in milliseconds; it has to be positive."""
        gap = gap_function(self.extractor)(element)
        if gap <= 0:
            raise ValidationError(f"dynamic session gap must be more than zero, got {gap} ms for {element!r}")
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self.extractor).__name__})"


class EventTimeSessionWindows(_FixedGap, _EventTimeSessions):
    """Sessions by the timestamps of elements."""

    @staticmethod
    def with_gap(size: Time | Duration) -> EventTimeSessionWindows:
        """A session ends when `size` passes without an element."""
        return EventTimeSessionWindows(to_millis(size))

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """Each element says how long the session stays open after it."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGap, _ProcessingTimeSessions):
    """Sessions by the time at which elements are processed."""

    @staticmethod
    def with_gap(size: Time | Duration) -> ProcessingTimeSessionWindows:
        """A session ends when `size` passes without an element."""
        return ProcessingTimeSessionWindows(to_millis(size))

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Each element says how long the session stays open after it."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGap, _EventTimeSessions):
    """Event-time sessions whose gap depends on the element."""

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """Sessions whose gap each element decides itself."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGap, _ProcessingTimeSessions):
    """Processing-time sessions whose gap depends on the element."""

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Sessions whose gap each element decides itself."""
        return DynamicProcessingTimeSessionWindows(extractor)
