"""Windows that do not look at time: the global one, and windows of so many elements.

A count window fires when it is full and is then dropped; an incomplete one never fires. Sliding count windows
start at every `slide`-th element of the key, so only full windows are seen:

    size 4, slide 2     1 2 3 4 5 6 7 8
                        |-----|
                            |-----|
                                |-----|
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ValueStateDescriptor
from penstock.windowing.assigner import WindowAssigner
from penstock.windowing.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    NeverTrigger,
    PurgingTrigger,
    Trigger,
)
from penstock.windowing.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
)

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner", "GlobalWindows"]


class GlobalWindows(WindowAssigner):
    """One window for all elements of a key; without a trigger it never fires."""

    def __init__(self, default_trigger: Trigger | None = None) -> None:
        self._default_trigger = default_trigger

    @staticmethod
    def create() -> GlobalWindows:
        """All elements of a key in one window, which only a trigger ends."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Fires once, when a bounded input has ended."""
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        """The one window that there is."""
        return (GlobalWindow.get(),)

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that never fires, unless another was given."""
        return self._default_trigger or NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer:
        """How the window is stored."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Never: the window has no end in time."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountingAssigner(WindowAssigner):
    """Numbers the elements of each key in keyed state."""

    _state_name = ""

    def __init__(self, **sizes: int) -> None:
        for name, size in sizes.items():
            if size <= 0:
                raise ValidationError(f"{type(self).__name__}: {name} must be more than zero, got {size}")
        self._counter = ValueStateDescriptor(self._state_name, Types.LONG())

    def _next_number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        count = context.get_runtime_context().get_state(self._counter)
        number = count.value() or 0
        count.update(number + 1)
        return number

    def get_window_serializer(self) -> TypeSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_CountingAssigner):
    """Every `window_size` elements of a key are a window."""

    _state_name = "tumble-count-assigner"

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size=window_size)
        self.window_size = window_size

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of `size` elements, one after the other."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """The window of the key's next number."""
        return (CountWindow(self._next_number(context) // self.window_size),)

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when the window has its number of elements, and empties it."""
        return PurgingTrigger(CountTrigger(self.window_size))

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


class CountSlidingWindowAssigner(_CountingAssigner):
    """Windows of `window_size` elements, a new one after every `window_slide` elements of the key."""

    _state_name = "slide-count-assigner"

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size=window_size, window_slide=window_slide)
        self.window_size = window_size
        self.window_slide = window_slide

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of `size` elements, a new one every `slide` elements."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """All windows that the key's next number belongs to, the newest first."""
        number = self._next_number(context)
        last = number // self.window_slide
        first = max(0, (number - self.window_size) // self.window_slide + 1)
        return [CountWindow(id) for id in range(last, first - 1, -1)]

    def get_default_trigger(self, env: Any) -> Trigger:
        """One that fires when a window has its number of elements, and empties it."""
        return PurgingTrigger(CountTrigger(self.window_size))

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"
