"""What a window keeps of its elements: all of them, or one value into which they are combined.

Contents live in keyed state, in the namespace of the window (for merging windows: of its state window). The
operator sets key and namespace, then calls `add`, `get`, `clear`. `get` returns None for a window without
elements, which then does not fire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import Types
from penstock.operators.function_operator import bound
from penstock.state.backend import KeyedStateBackend
from penstock.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from penstock.windowing.evictors import TimestampedValue

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation

_STATE_NAME = "window-contents"


class WindowContents(ABC):
    """Elements of the current key and namespace."""

    user_function: Any = None
    """The user's ReduceFunction or AggregateFunction, if there is one."""

    @abstractmethod
    def open(self, backend: KeyedStateBackend) -> None:
        """Gets the state; called once, before anything else."""

    @abstractmethod
    def add(self, value: Any, timestamp: int) -> None: ...

    @abstractmethod
    def get(self) -> Any:
        """What the window's function gets: a list, or the combined value; None if nothing is there."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the window has no elements; asks no function."""

    @abstractmethod
    def clear(self) -> None: ...

    @abstractmethod
    def merge(self, target: Any, sources: Sequence[Any]) -> None:
        """Moves the contents of the namespaces `sources` into `target`, for the current key."""


class ListContents(WindowContents):
    """All elements, in the order in which they came."""

    def __init__(self, element_type: TypeInformation | None = None) -> None:
        self.element_type = element_type

    def open(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._descriptor = ListStateDescriptor(_STATE_NAME, self.element_type or Types.PICKLED_BYTE_ARRAY())
        self.state = backend.get_partitioned_state(self._descriptor, namespaced=True)

    def add(self, value: Any, timestamp: int) -> None:
        self.state.add(value)

    def get(self) -> Any:
        return list(self.state.get()) or None

    def is_empty(self) -> bool:
        return not list(self.state.get())

    def clear(self) -> None:
        self.state.clear()

    def merge(self, target: Any, sources: Sequence[Any]) -> None:
        self._backend.merge_namespaces(self._descriptor, target, sources)


class EvictableContents(ListContents):
    """All elements with their timestamps, for windows with an evictor."""

    def __init__(self) -> None:
        super().__init__(None)

    def add(self, value: Any, timestamp: int) -> None:
        self.state.add((value, timestamp))

    def get(self) -> list[TimestampedValue] | None:
        return [TimestampedValue(value, timestamp) for value, timestamp in self.state.get()] or None

    def replace(self, elements: list[TimestampedValue]) -> None:
        """What the evictor left."""
        self.state.update([(element.value, element.timestamp) for element in elements])


class CombinedContents(WindowContents):
    """One accumulator per window. `fold(value, accumulator or None)` gives the next accumulator.

    Reduce is an aggregate whose accumulator is the reduced value; the two subclasses say the difference.
    """

    accumulator_type: TypeInformation | None

    def open(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        descriptor = ValueStateDescriptor(_STATE_NAME, self.accumulator_type or Types.PICKLED_BYTE_ARRAY())
        self.state = backend.get_partitioned_state(descriptor, namespaced=True)

    @abstractmethod
    def first(self, value: Any) -> Any:
        """The accumulator of a window with one element."""

    def starter(self) -> Callable[[Any], Any]:
        """value -> accumulator, bound for a hot loop."""
        return self.first

    @abstractmethod
    def folder(self) -> Callable[[Any, Any], Any]:
        """(value, accumulator) -> accumulator, bound for a hot loop."""

    @abstractmethod
    def merger(self) -> Callable[[Any, Any], Any]:
        """(accumulator, accumulator) -> accumulator, bound for a hot loop."""

    @abstractmethod
    def finisher(self) -> Callable[[Any], Any]:
        """accumulator -> result, bound for a hot loop."""

    def combine(self, left: Any, right: Any) -> Any:
        """Two accumulators as one."""
        return self.merger()(left, right)

    def result(self, accumulator: Any) -> Any:
        """The result of an accumulator."""
        return self.finisher()(accumulator)

    def add(self, value: Any, timestamp: int) -> None:
        accumulator = self.state.value()
        if accumulator is None:
            self.state.update(self.first(value))
        else:
            self.state.update(self.folder()(value, accumulator))

    def get(self) -> Any:
        accumulator = self.state.value()
        return None if accumulator is None else (self.result(accumulator),)

    def is_empty(self) -> bool:
        return self.state.value() is None

    def clear(self) -> None:
        self.state.clear()

    def merge(self, target: Any, sources: Sequence[Any]) -> None:
        backend, state = self._backend, self.state
        backend.set_current_namespace(target)
        merged = state.value()
        for source in sources:
            backend.set_current_namespace(source)
            accumulator = state.value()
            if accumulator is not None:
                merged = accumulator if merged is None else self.combine(merged, accumulator)
                state.clear()
        backend.set_current_namespace(target)
        if merged is not None:
            state.update(merged)


class ReduceContents(CombinedContents):
    """The elements reduced to one."""

    def __init__(self, function: Any, element_type: TypeInformation | None = None) -> None:
        self.user_function = function
        self.accumulator_type = element_type

    def first(self, value: Any) -> Any:
        return value

    def folder(self) -> Callable[[Any, Any], Any]:
        reduce = bound(self.user_function, "reduce")
        return lambda value, accumulator: reduce(accumulator, value)

    def merger(self) -> Callable[[Any, Any], Any]:
        return bound(self.user_function, "reduce")

    def finisher(self) -> Callable[[Any], Any]:
        return _same


class AggregateContents(CombinedContents):
    """An AggregateFunction's accumulator."""

    def __init__(self, function: Any, accumulator_type: TypeInformation | None = None) -> None:
        self.user_function = function
        self.accumulator_type = accumulator_type

    def first(self, value: Any) -> Any:
        return self.user_function.add(value, self.user_function.create_accumulator())

    def starter(self) -> Callable[[Any], Any]:
        add, create = self.user_function.add, self.user_function.create_accumulator
        return lambda value: add(value, create())

    def folder(self) -> Callable[[Any, Any], Any]:
        return self.user_function.add  # type: ignore[no-any-return]

    def merger(self) -> Callable[[Any, Any], Any]:
        return self.user_function.merge  # type: ignore[no-any-return]

    def finisher(self) -> Callable[[Any], Any]:
        return self.user_function.get_result  # type: ignore[no-any-return]


def _same(value: Any) -> Any:
    return value
