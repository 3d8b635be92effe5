"""What decides when a window is evaluated and dropped: the `Trigger` interface.

The operator asks the trigger about each element and each of its timers and does what the answer says: FIRE
evaluates the window, PURGE drops its elements (the window itself stays until its time is over).
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.common.subscripts import Subscriptable

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup
    from penstock.state.descriptors import StateDescriptor

__all__ = ["Trigger", "TriggerResult"]


class TriggerResult(enum.Enum):
    """What happens to a window: (evaluate it, drop its elements)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window is computed and its result emitted."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the window's content is dropped."""
        return self.value[1]


class Trigger(Subscriptable, ABC):
    """Decides for each key and window when to fire. Stateless itself: state is kept through the context."""

    class TriggerContext(ABC):
        """What a trigger may ask and do for the current key and window; valid during one call."""

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
        def register_processing_time_timer(self, time: int) -> None:
            """`on_processing_time` is called for this window when processing time reaches `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """`on_event_time` is called for this window when the watermark reaches `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forgets the timer."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forgets the timer."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """State of this key and window; use it within the call."""

    class OnMergeContext(TriggerContext):
        """The context of `on_merge`."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Puts the state of the merged windows together as the state of the new one."""

    @abstractmethod
    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called for each element, after it was added to the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when a processing-time timer of this window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when an event-time timer of this window fires, the operator's clean-up timer included."""

    def can_merge(self) -> bool:
        """Whether `on_merge` is implemented, so that the trigger can be used with session windows."""
        return False

    @abstractmethod
    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        """Called when windows have become `window`: merge state, register timers again."""

    @abstractmethod
    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        """Called when the window is dropped: clear state and timers."""
