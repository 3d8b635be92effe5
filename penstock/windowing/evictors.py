"""Evictors: elements are taken out of a window before or after its function sees them (Java API).

With an evictor a window keeps all its elements with their timestamps, even for reduce and aggregate. An
evictor changes the list it is given:

>>> elements = [TimestampedValue(v, v) for v in (1, 2, 3)]
>>> CountEvictor.of(2).evict_before(elements, 3, None, None)
>>> [element.value for element in elements]
[2, 3]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.common.time import Duration, Time, to_millis
from penstock.windowing.triggers import delta_of

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup

__all__ = ["CountEvictor", "DeltaEvictor", "DeltaFunction", "Evictor", "TimeEvictor", "TimestampedValue"]


class TimestampedValue:
    """An element of a window and its event time (−2⁶³ if it has none)."""

    __slots__ = ("timestamp", "value")

    def __init__(self, value: Any, timestamp: int = MIN_TIMESTAMP) -> None:
        self.value = value
        self.timestamp = timestamp

    def get_value(self) -> Any:
        """The element."""
        return self.value

    def get_timestamp(self) -> int:
        """Its event time in milliseconds."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Whether it has an event time."""
        return self.timestamp != MIN_TIMESTAMP

    def __repr__(self) -> str:
        return f"TimestampedValue({self.value!r}, {self.timestamp})"


class Evictor(ABC):
    """Takes elements out of a window."""

    class EvictorContext(ABC):
        """What an evictor may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The epoch's processing time."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The operator's metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come."""

    @abstractmethod
    def evict_before(self, elements: list[TimestampedValue], size: int, window: Any, ctx: Any) -> None:
        """Called when the window fires, before its function: remove elements from the list."""

    @abstractmethod
    def evict_after(self, elements: list[TimestampedValue], size: int, window: Any, ctx: Any) -> None:
        """Called after the window's function: remove elements from the list."""


class _BuiltInEvictor(Evictor):
    """Evicts either before or after the function."""

    def __init__(self, do_evict_after: bool = False) -> None:
        self.do_evict_after = do_evict_after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Any, ctx: Any) -> None:
        if not self.do_evict_after:
            self.evict(elements)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Any, ctx: Any) -> None:
        if self.do_evict_after:
            self.evict(elements)

    def evict(self, elements: list[TimestampedValue]) -> None:
        raise NotImplementedError


class CountEvictor(_BuiltInEvictor):
    """Keeps the last `max_count` elements."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Keeps the last `max_count` elements."""
        return CountEvictor(max_count, do_evict_after)

    def evict(self, elements: list[TimestampedValue]) -> None:
        """Takes elements out from the front until as many are left as may stay."""
        del elements[: max(0, len(elements) - self.max_count)]


class TimeEvictor(_BuiltInEvictor):
    """Keeps the elements of the last `window_size` milliseconds before the latest one."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_size_ms = window_size

    @staticmethod
    def of(window_size: Time | Duration, do_evict_after: bool = False) -> TimeEvictor:
        """Keeps elements that are at most `window_size` older than the newest."""
        return TimeEvictor(to_millis(window_size), do_evict_after)

    def get_window_size(self) -> int:
        """How much older than the newest an element may be, in milliseconds."""
        return self.window_size_ms

    def evict(self, elements: list[TimestampedValue]) -> None:
        """Takes out the elements that are too old."""
        if not elements or not elements[0].has_timestamp():
            return
        cutoff = max(element.timestamp for element in elements) - self.window_size_ms
        elements[:] = [element for element in elements if element.timestamp > cutoff]


class DeltaEvictor(_BuiltInEvictor):
    """Keeps the elements whose distance from the last one is less than a threshold."""

    def __init__(self, threshold: float, delta_function: Any, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.threshold = threshold
        self.delta_function = delta_function

    @staticmethod
    def of(threshold: float, delta_function: Any, do_evict_after: bool = False) -> DeltaEvictor:
        """Keeps elements that differ from the last one by less than the threshold."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def evict(self, elements: list[TimestampedValue]) -> None:
        """Takes out the elements that differ too much from the last one."""
        if not elements:
            return
        delta, last = delta_of(self.delta_function), elements[-1].value
        elements[:] = [element for element in elements if delta(element.value, last) < self.threshold]


class DeltaFunction(ABC):
    """The distance between two elements, for DeltaTrigger and DeltaEvictor."""

    @abstractmethod
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        """How far the new element is from the old one."""
