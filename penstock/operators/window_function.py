"""What happens to the contents of a window that fires: the user's window function in its several shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.functions.window_adapters import fold_elements
from penstock.operators.function_operator import bound

if TYPE_CHECKING:
    from penstock.operators.window_context import WindowContext


class InternalWindowFunction(ABC):
    """Evaluates a window: (key, context, elements) -> results."""

    user_function: Any = None

    @abstractmethod
    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None: ...

    def clear(self, context: WindowContext) -> None:
        """The window is dropped."""

    @property
    def is_pass_through(self) -> bool:
        """Whether `process` returns the elements as they are."""
        return False


class PassThrough(InternalWindowFunction):
    """reduce or aggregate alone: the combined value is the result."""

    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        return elements

    @property
    def is_pass_through(self) -> bool:
        return True


class ApplyFunction(InternalWindowFunction):
    """WindowFunction: apply(key, window, inputs)."""

    def __init__(self, function: Any) -> None:
        self.user_function = function

    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        return bound(self.user_function, "apply")(key, context.window(), elements)  # type: ignore[no-any-return]


class ApplyAllFunction(ApplyFunction):
    """AllWindowFunction: apply(window, inputs)."""

    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        return bound(self.user_function, "apply")(context.window(), elements)  # type: ignore[no-any-return]


class ProcessFunction(InternalWindowFunction):
    """ProcessWindowFunction: process(key, context, elements)."""

    def __init__(self, function: Any) -> None:
        self.user_function = function

    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        return bound(self.user_function, "process")(key, context, elements)  # type: ignore[no-any-return]

    def clear(self, context: WindowContext) -> None:
        clear = getattr(self.user_function, "clear", None)
        if clear is not None:
            clear(context)


class ProcessAllFunction(ProcessFunction):
    """ProcessAllWindowFunction: process(context, elements)."""

    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        return bound(self.user_function, "process")(context, elements)  # type: ignore[no-any-return]


class Precombined(InternalWindowFunction):
    """Combines all elements when the window fires, then evaluates: reduce and aggregate with an evictor.

    An evictor needs the elements themselves, so they cannot be combined as they come.
    """

    def __init__(self, combiner: Any, function: InternalWindowFunction) -> None:
        self._combiner = combiner
        self._function = function
        self.user_function = function.user_function

    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        elements = list(elements)
        if not elements:
            return None
        return self._function.process(key, context, (fold_elements(self._combiner, elements),))

    def clear(self, context: WindowContext) -> None:
        self._function.clear(context)
