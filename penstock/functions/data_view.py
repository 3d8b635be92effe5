"""ListView and MapView: collections inside an accumulator that need not fit into one value of state.

A user's aggregate function puts them into the Row it keeps:

    def create_accumulator(self):
        return Row(ListView(), 0)

As they are made they are plain collections in memory, and that is what they stay in windows and bounded queries. A
GROUP BY over a stream replaces them by views of keyed state (`delta/aggregates/views.py`), which read and write the
elements one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock.common.subscripts import Subscriptable

__all__ = ["DataView", "ListView", "MapView"]


class DataView(Subscriptable, ABC):
    """What lists and maps in accumulators have in common."""

    @abstractmethod
    def clear(self) -> None:
        """Takes everything out."""


class ListView(DataView):
    """A list of values, in the order they came.

    >>> view = ListView()
    >>> view.add(1); view.add_all([2, 3])
    >>> list(view)
    [1, 2, 3]
    """

    def __init__(self) -> None:
        self._list: list[Any] = []

    def get(self) -> Iterable[Any]:
        """All values."""
        return self._list

    def add(self, value: Any) -> None:
        """Puts a value at the end."""
        self._list.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Puts values at the end."""
        self._list.extend(values)

    def clear(self) -> None:
        """Removes all elements."""
        self._list = []

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.get()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self.get()) == list(other.get())

    def __hash__(self) -> int:
        return hash(tuple(self.get()))

    def __repr__(self) -> str:
        return f"ListView({list(self.get())!r})"


class MapView(DataView):
    """Values by key.

    >>> view = MapView()
    >>> view["a"] = 1; view.put_all({"b": 2})
    >>> sorted(view.items()), view.get("c"), "a" in view
    ([('a', 1), ('b', 2)], None, True)
    """

    def __init__(self) -> None:
        self._dict: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """The value of a key; None if there is none."""
        return self._dict.get(key)

    def put(self, key: Any, value: Any) -> None:
        """Sets the value of a key."""
        self._dict[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        """Sets the values of all keys of a map."""
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Takes a key out; one that is not there is fine."""
        self._dict.pop(key, None)

    def contains(self, key: Any) -> bool:
        """Whether the key is there."""
        return key in self._dict

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Keys with their values."""
        return self._dict.items()

    def keys(self) -> Iterable[Any]:
        """All keys."""
        return self._dict.keys()

    def values(self) -> Iterable[Any]:
        """All values."""
        return self._dict.values()

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._dict

    def clear(self) -> None:
        """Removes all entries."""
        self._dict = {}

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.keys()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and dict(self.items()) == dict(other.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.keys()))

    def __repr__(self) -> str:
        return f"MapView({dict(self.items())!r})"
