"""The windows of one key while they merge: which window is there, and under which name its contents are kept.

Moving contents from window to window whenever a session grows would be costly. Instead a window keeps the
*state window*, the first window of its session, as the namespace of its contents:

    element at 10, gap 5     [10, 15)  state window [10, 15)
    element at 13            [10, 18)  state window [10, 15)    nothing was moved
    element at 30            [30, 35)  state window [30, 35)
    element at 18 … 30       [10, 35)  state window [10, 15)    contents of [30, 35) moved to it

The set itself is a map window -> state window in keyed state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.errors import InvariantError
from penstock.common.typeinfo import Types
from penstock.state.backend import KeyedStateBackend
from penstock.state.descriptors import ValueStateDescriptor
from penstock.windowing.assigner import MergingWindowAssigner

MergeFunction = Callable[[Any, list[Any], Any, list[Any]], None]
"""(merge result, merged windows, its state window, their state windows): moves contents and triggers."""


class _Merges(MergingWindowAssigner.MergeCallback):
    """Notes what the assigner wants merged."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(to_be_merged)))


class MergingWindowSet:
    """The set of the current key. `load` it first, `persist` it after changes."""

    def __init__(self, assigner: MergingWindowAssigner, backend: KeyedStateBackend) -> None:
        self._assigner = assigner
        descriptor = ValueStateDescriptor("merging-window-set", Types.PICKLED_BYTE_ARRAY())
        self._state = backend.get_partitioned_state(descriptor)
        self._windows: dict[Any, Any] = {}
        self._changed = False

    def load(self) -> None:
        """Takes the set of the backend's current key."""
        self._windows = dict(self._state.value() or ())
        self._changed = False

    def persist(self) -> None:
        if self._changed:
            self._state.update(self._windows or None)
            self._changed = False

    def state_window(self, window: Any) -> Any:
        """Where the contents of `window` are, or None if there is no such window."""
        return self._windows.get(window)

    def retire(self, window: Any) -> None:
        """Forgets a window."""
        if self._windows.pop(window, None) is None:
            raise InvariantError(f"window {window!r} is not in the set of its key")
        self._changed = True

    def add(self, new_window: Any, merge: MergeFunction) -> Any:
        """Adds a window; returns the one it has become part of.

        `merge` is called for each merge, after the set has been changed accordingly.
        """
        windows = self._windows
        if new_window in windows:
            return new_window
        merges = _Merges()
        self._assigner.merge_windows([*windows, new_window], merges)
        self._changed = True
        result, absorbed = new_window, False
        for merge_result, group in merges.found:
            merged = [window for window in group if window != new_window]
            if len(merged) < len(group):
                absorbed, result = True, merge_result
            state_windows = [windows.pop(window) for window in merged]
            windows[merge_result] = state_windows[0]
            if merged != [merge_result]:
                merge(merge_result, merged, state_windows[0], state_windows[1:])
        if not absorbed:
            windows[new_window] = new_window
        return result
