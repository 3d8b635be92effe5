"""What a function object carries from epoch to epoch.

In Flink a function object lives as long as its task, so `self.count += 1` counts on. Here it may move to
another worker process between two epochs; what it knows has to move with it:

    the constructor set it, and open() left it alone      carried, if it can be pickled
    open() set it                                         the process's own (a connection, a model, state
                                                          objects); carried only once the function has put
                                                          plain data there that open() did not
    the function set it later                             carried, if it is plain data

What cannot be pickled is a resource and stays behind. Only what differs from the function as it was shipped
is sent, found by comparing pickled bytes, so that a large constant attribute is not sent again and again.
A plain function has no attributes; the variables it closes over are treated the same way.

The order of calls is `CarriedState(function)`, `function.open(...)`, `after_open()`, then for each epoch
`restore(bytes)` if this process does not hold the committed state, and `snapshot()` at its end.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import pickle
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import MutableMapping
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from penstock.common.types import Row

__all__ = ["CarriedState"]

_IMMUTABLE = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    decimal.Decimal,
    datetime.date,
    datetime.time,
)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque, Counter, OrderedDict, defaultdict, bytearray, Row)
_PLAIN = frozenset((*_IMMUTABLE, *_CONTAINERS, datetime.datetime, datetime.timedelta))
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type)

_ABSENT = object()


class CarriedState:
    """Tracks one function object of one subtask; see the module's docstring for what counts."""

    def __init__(self, function: Any) -> None:
        self._attributes = _attributes_of(function)
        self._shipped_values = dict(self._attributes)
        self._shipped = {name: _dump(value) for name, value in self._shipped_values.items()}
        self._opened_values: dict[str, Any] = dict(self._shipped_values)
        self._opened: dict[str, bytes | None] = {}

    def after_open(self) -> None:
        """Notes what open() left behind; to be called right after it."""
        self._opened_values = dict(self._attributes)
        for name, value in self._opened_values.items():
            if value is not self._shipped_values.get(name, _ABSENT):
                self._opened[name] = _dump(value) if type(value) in _PLAIN else None

    def snapshot(self) -> bytes | None:
        """All that differs from the function as it was shipped and opened; None if nothing does."""
        carried: dict[str, bytes] = {}
        for name, value in list(self._attributes.items()):
            dumped = self._dump_if_carried(name, value)
            if dumped is not None:
                carried[name] = dumped
        return pickle.dumps(carried, protocol=5) if carried else None

    def restore(self, snapshot: bytes | None) -> None:
        """Makes the function what it was at `snapshot`; None: as it was after open()."""
        carried: dict[str, bytes] = pickle.loads(snapshot) if snapshot else {}
        for name in list(self._attributes):
            if name not in carried:
                self._reset(name)
        for name, dumped in carried.items():
            self._attributes[name] = pickle.loads(dumped)

    def _dump_if_carried(self, name: str, value: Any) -> bytes | None:
        if name in self._opened or name not in self._shipped:
            before = self._opened.get(name)
            if value is self._opened_values.get(name, _ABSENT) and (before is None or _is_immutable(value)):
                return None
            if name not in self._shipped and type(value) not in _PLAIN:
                return None
        else:
            before = self._shipped[name]
            if value is self._shipped_values[name] and (before is None or _is_immutable(value)):
                return None
        dumped = _dump(value)
        return None if dumped == before else dumped

    def _reset(self, name: str) -> None:
        """Back to the value after open(), if the attribute can have changed since."""
        if name in self._opened or name not in self._shipped:
            if name not in self._opened_values:
                del self._attributes[name]
                return
            dumped, original = self._opened[name], self._opened_values[name]
        else:
            dumped, original = self._shipped[name], self._shipped_values[name]
        if dumped is None or _is_immutable(original):
            self._attributes[name] = original
        elif _dump(self._attributes[name]) != dumped:
            self._attributes[name] = pickle.loads(dumped)


class _ClosedOver(MutableMapping[str, Any]):
    """The variables a plain function closes over, as a mapping."""

    def __init__(self, function: types.FunctionType) -> None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._cells = {name: cell for name, cell in cells if _is_filled(cell)}

    def __getitem__(self, name: str) -> Any:
        return self._cells[name].cell_contents

    def __setitem__(self, name: str, value: Any) -> None:
        self._cells[name].cell_contents = value

    def __delitem__(self, name: str) -> None:
        del self._cells[name]

    def __iter__(self) -> Any:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


def _attributes_of(function: Any) -> MutableMapping[str, Any]:
    """Where the function keeps what it knows: its attributes, or what it closes over."""
    while True:
        if hasattr(function, "user_callable"):
            function = function.user_callable
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__self__
        else:
            break
    if isinstance(function, types.FunctionType):
        return _ClosedOver(function)
    if isinstance(function, _CODE):
        return {}
    return getattr(function, "__dict__", {})


def _is_filled(cell: types.CellType) -> bool:
    try:
        return not isinstance(cell.cell_contents, _CODE)
    except ValueError:  # the cell is empty: a variable that was never assigned
        return False


def _is_immutable(value: Any) -> bool:
    return isinstance(value, _IMMUTABLE)


def _dump(value: Any) -> bytes | None:
    """The value as bytes, or None if it cannot be pickled (whatever its `__reduce__` raises)."""
    if isinstance(value, _CODE):
        return None
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:
        try:
            return bytes(cloudpickle.dumps(value))
        except Exception:
            return None
