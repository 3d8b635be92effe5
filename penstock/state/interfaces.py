"""What a user's function holds: the State interfaces, in PyFlink's spelling.

A state object is a view: it shows the value of whichever key (and window) is current when it is called. It is
made once, in `open()`, from a descriptor, and stays valid for the life of the function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from penstock.state.descriptors import MapStateDescriptor

__all__ = [
    "AggregatingState",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "MapState",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "State",
    "ValueState",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """Any state: all kinds can be cleared."""

    __slots__ = ()

    @abstractmethod
    def clear(self) -> None:
        """Removes what the current key holds."""


class ValueState(State, Generic[T]):
    """One value per key."""

    __slots__ = ()

    @abstractmethod
    def value(self) -> T:
        """The value of the current key, None if it has none.

        Changing the object that was returned changes nothing for good: call `update` afterwards.

        Example:
            ```python
            count = self.count.value() or 0
            ```
        """

    @abstractmethod
    def update(self, value: T) -> None:
        """Sets the value of the current key; None removes it.

        Example:
            ```python
            self.count.update((self.count.value() or 0) + 1)
            ```
        """


class AppendingState(State, Generic[IN, OUT]):
    """State to which elements are added, kept one by one or combined."""

    __slots__ = ()

    @abstractmethod
    def get(self) -> OUT:
        """What the elements added for the current key amount to."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Adds an element for the current key."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state of which two can become one, as merging windows need."""

    __slots__ = ()


class ReducingState(MergingState[T, T]):
    """The elements of a key combined by a ReduceFunction; `get` is None while there are none."""

    __slots__ = ()


class AggregatingState(MergingState[IN, OUT]):
    """The elements of a key folded into an AggregateFunction's accumulator; `get` gives its result."""

    __slots__ = ()


class ListState(MergingState[T, Iterable[T]]):
    """A list per key. Adding to it costs the same however long it is."""

    __slots__ = ()

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replaces the list of the current key."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Adds elements at the end."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _ReadableMap(State, Generic[K, V]):
    """What can be asked of a map; shared by keyed maps and broadcast state."""

    __slots__ = ()

    @abstractmethod
    def get(self, key: K) -> V:
        """The value of a map key, None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether the map key has an entry."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All map keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are no entries."""

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_ReadableMap[K, V]):
    """What can be done to a map."""

    __slots__ = ()

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Sets one entry."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Sets every entry of a dict."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Removes one entry; no error if there is none."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map per key, of which single entries are read and written."""

    __slots__ = ()


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the side that does not own it sees it. Do not change the values you get."""

    __slots__ = ()

    def clear(self) -> None:
        raise TypeError("broadcast state is read-only here: change it in process_broadcast_element")


class BroadcastState(ReadOnlyBroadcastState[K, V], _WritableMap[K, V]):
    """A map that is the same in every subtask, because all of them see the same changes in one order."""

    __slots__ = ()

    @abstractmethod
    def clear(self) -> None:
        """Removes all entries."""


class OperatorStateStore(ABC):
    """Where a function gets state that belongs to the operator, not to a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """The broadcast state for a map descriptor."""
