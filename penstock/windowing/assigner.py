"""What assigns elements to windows, and what a window operator offers to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.common.ids import MIN_TIMESTAMP
from penstock.common.subscripts import Subscriptable

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer
    from penstock.functions.base import RuntimeContext
    from penstock.windowing.triggers import Trigger

__all__ = ["MergingWindowAssigner", "SessionWindowTimeGapExtractor", "WindowAssigner"]


class WindowAssigner(Subscriptable, ABC):
    """Assigns each element to zero or more windows."""

    class WindowAssignerContext(ABC):
        """What an assigner may ask; valid during one call."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The epoch's processing time."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """State and place of the window operator; the current key is the element's."""

    @abstractmethod
    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[Any]:
        """The windows of one element, called once for each; −2⁶³ as timestamp means it has none."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger:
        """What fires the windows if the program names no trigger."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer:
        """How the windows are written; here for Flink's sake, pickling is used unless they are built in."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether elements can be late: windows are dropped when the watermark has passed them."""


class MergingWindowAssigner(WindowAssigner):
    """An assigner whose windows can merge, as sessions do."""

    class MergeCallback(ABC):
        """Told which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
            """The windows `to_be_merged` are `merge_result` from now on."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[Any], callback: MergingWindowAssigner.MergeCallback) -> None:
        """Finds out which of a key's windows merge; called whenever one is added."""


class SessionWindowTimeGapExtractor(ABC):
    """Says for each element how long its session stays open after it."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap in milliseconds, more than zero."""


def gap_function(extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]) -> Callable[[Any], int]:
    """The extractor as something to call."""
    return getattr(extractor, "extract", None) or extractor  # type: ignore[return-value]


def require_timestamp(timestamp: int, assigner: WindowAssigner) -> None:
    """An event-time window needs event time; says which call was forgotten."""
    if timestamp == MIN_TIMESTAMP:
        raise ValidationError(
            f"event-time window on an element without a timestamp: {assigner!r}",
            do="call assign_timestamps_and_watermarks(...) before key_by(...), or use a processing-time window "
            "such as TumblingProcessingTimeWindows",
        )


def require_positive(assigner: str, **lengths: int) -> None:
    for name, length in lengths.items():
        if length <= 0:
            raise ValidationError(f"{assigner}: {name} must be more than zero, got {length} ms")
