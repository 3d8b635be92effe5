"""Process functions: elements, state, timers and side outputs, for one and for two inputs.

Whatever a method yields (or returns as a list) is emitted; `yield tag, value` with an `OutputTag` emits to
that side output; None means nothing. A context is valid during the call only: the operator reuses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.base import Function
from penstock.functions.timers import TimeDomain, TimerService

__all__ = [
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessFunction",
]


class _Context(ABC):
    """What all process functions may ask about the element at hand."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """The clock; on keyed streams also timers."""

    @abstractmethod
    def timestamp(self) -> int:
        """Event time of the element or the timer; -2**63 if the stream has no timestamps."""


class ProcessFunction(Function):
    """Handles the elements of a stream one by one."""

    class Context(_Context):
        """Valid during one call."""

    class OnTimerContext(Context):
        """The context of a firing timer (a ProcessFunction on a keyed stream; Java API)."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which kind of timer fired."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Called for every element."""

    def on_timer(self, timestamp: int, ctx: ProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Called when a timer fires; only a function of a keyed stream can register one."""


class KeyedProcessFunction(Function):
    """Handles the elements of a keyed stream, with state and timers per key."""

    class Context(_Context):
        """Valid during one call."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the element or the timer."""

    class OnTimerContext(Context):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which kind of timer fired."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Called for every element."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Called when a timer fires, with its key; `timestamp` is the time it was registered for."""


class CoMapFunction(Function):
    """Maps the elements of two connected streams to one type."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Called for elements of the first stream; None emits nothing."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Called for elements of the second stream; None emits nothing."""


class CoFlatMapFunction(Function):
    """Any number of results for the elements of two connected streams."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Called for elements of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Called for elements of the second stream."""


class CoProcessFunction(Function):
    """Handles the elements of two connected streams."""

    class Context(_Context):
        """Valid during one call."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Called for elements of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Called for elements of the second stream."""


class KeyedCoProcessFunction(Function):
    """Handles the elements of two connected keyed streams, which share state and timers by key."""

    class Context(_Context):
        """Valid during one call."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the element or the timer."""

    class OnTimerContext(Context):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which kind of timer fired."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Called for elements of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Called for elements of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Called when a timer fires, with the key it was registered for."""
