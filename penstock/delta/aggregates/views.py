"""Views of keyed state in the place of the ListViews and MapViews of an accumulator.

`AccumulatorViews` belongs to one aggregate call of a GROUP BY. While the function works on an accumulator its views
are those of state (`attach`); what is stored with the group has None in their places (`detach`). So a group with a
long list is not written anew whenever one value is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.typeinfo import Types
from penstock.functions.data_view import ListView, MapView
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor

__all__ = ["AccumulatorViews", "view_places"]

GetState = Callable[[StateDescriptor], Any]


def view_places(accumulator: Any) -> dict[int, type[ListView] | type[MapView]]:
    """Where in a new accumulator views stand, and of which kind.

    >>> from penstock.common.types import Row
    >>> view_places(Row(0, MapView()))
    {1: <class 'penstock.functions.data_view.MapView'>}
    """
    if not isinstance(accumulator, list) and not hasattr(accumulator, "get_row_kind"):
        return {}
    kinds = ((place, _kind(item)) for place, item in enumerate(accumulator))
    return {place: kind for place, kind in kinds if kind is not None}


def _kind(item: Any) -> type[ListView] | type[MapView] | None:
    return next((kind for kind in (ListView, MapView) if isinstance(item, kind)), None)


class AccumulatorViews:
    """The views of one call, over the state of the current key.

    Args:
        places: What `view_places` found.
        get_state: Makes state of a descriptor.
        name: Tells the state of this call from that of others.
    """

    def __init__(self, places: dict[int, Any], get_state: GetState, name: str) -> None:
        self._views: dict[int, StateListView | StateMapView] = {}
        pickled = Types.PICKLED_BYTE_ARRAY()
        for place, kind in places.items():
            if kind is ListView:
                descriptor: StateDescriptor = ListStateDescriptor(f"{name}-list-{place}", pickled)
                self._views[place] = StateListView(get_state(descriptor))
            else:
                descriptor = MapStateDescriptor(f"{name}-map-{place}", pickled, pickled)
                self._views[place] = StateMapView(get_state(descriptor))

    def adopt(self, accumulator: Any) -> None:
        """Takes what a new accumulator's own views hold, which is mostly nothing, into state."""
        for place, view in self._views.items():
            made = accumulator[place]
            view.clear()
            if isinstance(made, ListView) and list(made):
                view.add_all(made)  # type: ignore[union-attr]
            elif isinstance(made, MapView) and not made.is_empty():
                view.put_all(dict(made.items()))  # type: ignore[union-attr]
        self.attach(accumulator)

    def attach(self, accumulator: Any) -> None:
        for place, view in self._views.items():
            accumulator[place] = view

    def detach(self, accumulator: Any) -> None:
        for place in self._views:
            accumulator[place] = None

    def clear(self) -> None:
        for view in self._views.values():
            view.clear()


class StateListView(ListView):
    """A ListView over list state."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self._state = state

    def get(self) -> Iterable[Any]:
        return self._state.get() or ()

    def add(self, value: Any) -> None:
        self._state.add(value)

    def add_all(self, values: Iterable[Any]) -> None:
        self._state.add_all(list(values))

    def clear(self) -> None:
        self._state.clear()


class StateMapView(MapView):
    """A MapView over map state: a record per key."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self._state = state

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def put(self, key: Any, value: Any) -> None:
        self._state.put(key, value)

    def remove(self, key: Any) -> None:
        self._state.remove(key)

    def contains(self, key: Any) -> bool:
        return bool(self._state.contains(key))

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._state.items()  # type: ignore[no-any-return]

    def keys(self) -> Iterable[Any]:
        return self._state.keys()  # type: ignore[no-any-return]

    def values(self) -> Iterable[Any]:
        return self._state.values()  # type: ignore[no-any-return]

    def is_empty(self) -> bool:
        return bool(self._state.is_empty())

    def clear(self) -> None:
        self._state.clear()
