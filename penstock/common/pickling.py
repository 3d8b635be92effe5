"""Pickles that other processes can read, also of what a script defines itself.

Plain pickle writes a class as its name, and a class of the script (`__main__`) has that name in no other
process; cloudpickle sends its code along, under an id that is new in every run of the script. So a class
that cannot be imported travels as name, id and code, and whoever reads it takes the first of these that works:

1. the class with that id: it came with the job's functions, or the reader is the script itself;
2. a class of that name, when the id is from an earlier run: state that was written before a restart comes
   back as instances of the class that the script has now;
3. the code.

In keys the name stands alone, because their bytes must be the same in every process and every run.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from typing import Any
from weakref import WeakKeyDictionary

import cloudpickle  # type: ignore[import-untyped]
from cloudpickle import cloudpickle as _tracker

from penstock.common.errors import StateError
from penstock.common.surroundings import here

__all__ = ["dumps", "dumps_canonical", "loads", "ship", "unship"]

loads = pickle.loads

_ERRORS = (pickle.PicklingError, AttributeError, TypeError)


def dumps(value: Any) -> bytes:
    """Pickle a value; shared references inside it stay shared."""
    try:
        data = pickle.dumps(value, 5)  # for one small value half the time of a Pickler with hooks
    except _ERRORS:
        return _dumps_by_value(value)
    return _dumps_by_value(value) if b"__main__" in data else data


def dumps_canonical(value: Any) -> bytes:
    """Pickle without back references and with classes by name: equal content gives equal bytes.

    What has no such form (cycles, functions) is pickled as by `dumps`.
    """
    try:
        return _run(_NamePickler, value, fast=True)
    except (*_ERRORS, ValueError, RecursionError):
        return dumps(value)


def ship(value: Any) -> bytes:
    """Pickle what holds users' code for a worker: lambdas by value, modules with the places they are found at."""
    return pickle.dumps((here(), cloudpickle.dumps(value, 5)), 5)


def unship(data: bytes) -> Any:
    """What `ship` packed; on one machine the worker looks for modules where the driver found them."""
    surroundings, value = pickle.loads(data)
    surroundings.add()
    return pickle.loads(value)


def _dumps_by_value(value: Any) -> bytes:
    try:
        return _run(_ValuePickler, value)
    except _ERRORS:
        return cloudpickle.dumps(value, 5)  # type: ignore[no-any-return]


def _run(kind: type[pickle.Pickler], value: Any, fast: bool = False) -> bytes:
    buffer = io.BytesIO()
    pickler = kind(buffer, 5)
    pickler.fast = fast
    pickler.dump(value)
    return buffer.getvalue()


class _ValuePickler(pickle.Pickler):
    """Sends the code of classes and functions that cannot be imported."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and not _importable(obj):
            return _load_class, (obj.__module__, obj.__qualname__, *_identity_and_code(obj))
        if isinstance(obj, types.FunctionType) and not _importable(obj):
            return loads, (cloudpickle.dumps(obj, 5),)
        return NotImplemented


class _NamePickler(pickle.Pickler):
    """Sends only the names of classes."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and not _importable(obj):
            _identity_and_code(obj)  # so that this process knows the class when it reads the name
            return _load_class_by_name, (obj.__module__, obj.__qualname__)
        return NotImplemented


def _importable(obj: Any) -> bool:
    """Whether another process finds the object under its name."""
    return obj.__module__ != "__main__" and _find(obj.__module__, obj.__qualname__) is obj


def _find(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


_codes: WeakKeyDictionary[type, tuple[str, bytes]] = WeakKeyDictionary()
_loaded: dict[str, type] = {}  # id of a class from elsewhere: what it is here


def _identity_and_code(cls: type) -> tuple[str, bytes]:
    known = _codes.get(cls)
    if known is None:
        code = cloudpickle.dumps(cls, 5)
        known = _codes[cls] = (str(_tracker._get_or_create_tracker_id(cls)), code)
    return known


def _load_class(module: str, qualname: str, identity: str, code: bytes) -> type:
    known = _loaded.get(identity) or _tracker._DYNAMIC_CLASS_TRACKER_BY_ID.get(identity)
    if known is None:
        known = _loaded[identity] = _known_by_name(module, qualname) or loads(code)
    return known  # type: ignore[no-any-return]


def _load_class_by_name(module: str, qualname: str) -> type:
    known = _known_by_name(module, qualname)
    if known is None:
        raise StateError(
            f"no class {module}.{qualname} is known to this process, but a key is one",
            do="define the class in a module that workers can import, or key by a tuple of its fields",
        )
    return known


def _known_by_name(module: str, qualname: str) -> type | None:
    """The class of that name in its module, else the latest that came to this process with a job."""
    found = _find(module, qualname)
    if isinstance(found, type):
        return found
    arrived = reversed(list(_tracker._DYNAMIC_CLASS_TRACKER_BY_ID.values()))
    return next((cls for cls in arrived if (cls.__module__, cls.__qualname__) == (module, qualname)), None)
