"""Functions of a stream and a broadcast stream.

Broadcast elements reach every subtask and may change the broadcast state; elements of the other stream may
only read it. Every subtask has to make the same changes: nothing in them may depend on the subtask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.functions.base import Function
from penstock.functions.timers import TimeDomain, TimerService

if TYPE_CHECKING:
    from penstock.state.descriptors import (
        BroadcastState,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
        StateDescriptor,
    )

__all__ = ["BaseBroadcastProcessFunction", "BroadcastProcessFunction", "KeyedBroadcastProcessFunction"]


class BaseBroadcastProcessFunction(Function):
    """Holds the contexts that the two broadcast functions share."""

    class BaseContext(ABC):
        """The time, and when the element at hand happened."""

        @abstractmethod
        def timestamp(self) -> int:
            """Event time of the element; -2**63 if the stream has no timestamps."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The epoch's processing time."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event time up to which this operator has seen everything."""

    class Context(BaseContext):
        """For broadcast elements: may change the broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
            """The broadcast state of a descriptor that was given to `broadcast(...)`."""

    class ReadOnlyContext(BaseContext):
        """For elements of the other stream: may read the broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
            """The broadcast state of a descriptor that was given to `broadcast(...)`."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction):
    """For `data.connect(rules.broadcast(...))` where the data is not keyed."""

    class Context(BaseBroadcastProcessFunction.Context):
        """For broadcast elements."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """For elements of the other stream."""

    @abstractmethod
    def process_element(
        self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[Any] | None:
        """Called for elements of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(
        self, value: Any, ctx: BroadcastProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Called in every subtask for each broadcast element."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction):
    """For `data.key_by(...).connect(rules.broadcast(...))`."""

    class Context(BaseBroadcastProcessFunction.Context):
        """For broadcast elements."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
        ) -> None:
            """Calls `function(key, state)` for every key of this subtask that has the state (Java API)."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """For elements of the keyed stream."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clock and the timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the element or the timer."""

    class OnTimerContext(ReadOnlyContext):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which kind of timer fired."""

    @abstractmethod
    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[Any] | None:
        """Called for elements of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Called in every subtask for each broadcast element."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[Any] | None:
        """Called when a timer fires, with the key it was registered for."""
