"""Functions of the contents of a window.

`process` and `apply` get all elements; after `reduce` or `aggregate` they get one: the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.subscripts import Subscriptable
from penstock.functions.base import Function, KeyedStateStore

if TYPE_CHECKING:
    from penstock.windowing.windows import Window

__all__ = ["AllWindowFunction", "ProcessAllWindowFunction", "ProcessWindowFunction", "WindowFunction"]


class WindowFunction(Function):
    """Evaluates a window of a keyed stream."""

    @abstractmethod
    def apply(self, key: Any, window: Window, inputs: Iterable[Any]) -> Iterable[Any] | None:
        """Called each time the window fires."""


class AllWindowFunction(Function):
    """Evaluates a window of a stream without keys."""

    @abstractmethod
    def apply(self, window: Window, inputs: Iterable[Any]) -> Iterable[Any] | None:
        """Called each time the window fires."""


class ProcessWindowFunction(Function):
    """Evaluates a window of a keyed stream, with access to state and time."""

    class Context(Subscriptable, ABC):
        """What is known about the window; valid during one call."""

        @abstractmethod
        def window(self) -> Window:
            """The window that fires."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The epoch's processing time."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event time up to which this operator has seen everything."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and window; clear it in `clear`."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key, shared by all its windows."""

    @abstractmethod
    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterable[Any] | None:
        """Called each time the window fires."""

    def clear(self, context: ProcessWindowFunction.Context) -> None:
        """Called when the window is dropped: clear what `window_state` holds."""


class ProcessAllWindowFunction(Function):
    """Evaluates a window of a stream without keys, with access to state and time."""

    class Context(Subscriptable, ABC):
        """What is known about the window; valid during one call."""

        @abstractmethod
        def window(self) -> Window:
            """The window that fires."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window; clear it in `clear`."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State shared by all windows."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterable[Any] | None:
        """Called each time the window fires."""

    def clear(self, context: ProcessAllWindowFunction.Context) -> None:
        """Called when the window is dropped: clear what `window_state` holds."""
