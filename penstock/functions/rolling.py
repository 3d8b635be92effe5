"""sum, min, max, min_by and max_by as reduce functions over a field of an element, or the element itself.

`sum`, `min` and `max` change only the field: the rest of the result comes from the first element. `min_by`
and `max_by` keep the whole element, the first one on ties.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from penstock.common.errors import TypeMismatchError
from penstock.common.types import Row
from penstock.functions.element import ReduceFunction

__all__ = ["ROLLING_KINDS", "RollingFunction"]


def _add(old: Any, new: Any) -> Any:
    return old + new


def _smaller(old: Any, new: Any) -> Any:
    return new if new < old else old


def _larger(old: Any, new: Any) -> Any:
    return new if new > old else old


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {"sum": _add, "min": _smaller, "max": _larger}
_TAKES_NEW: dict[str, Callable[[Any, Any], bool]] = {
    "min_by": lambda old, new: new < old,
    "max_by": lambda old, new: new > old,
}
ROLLING_KINDS = (*_COMBINE, *_TAKES_NEW)


class RollingFunction(ReduceFunction):
    """One of the rolling aggregates, on a position, a field name, or (position 0) a plain value."""

    def __init__(self, kind: str, position: int | str) -> None:
        if not isinstance(position, (int, str)) or isinstance(position, bool):
            raise TypeMismatchError(
                f"{kind} needs the position or the name of a field, got {position!r}", do=f"{kind}(1)"
            )
        self.kind = kind
        self.position = position

    def reduce(self, value1: Any, value2: Any) -> Any:
        if not isinstance(value2, (tuple, list, Row, dict)):
            return self._reduce_plain(value1, value2)
        position = self.position
        if self.kind in _TAKES_NEW:
            return value2 if _TAKES_NEW[self.kind](value1[position], value2[position]) else value1
        field = _COMBINE[self.kind](value1[position], value2[position])
        if isinstance(value1, tuple):
            return _replaced(value1, position, field)
        result = copy.copy(value1)
        result[position] = field
        return result

    def _reduce_plain(self, value1: Any, value2: Any) -> Any:
        if self.position != 0:
            raise TypeMismatchError(
                f"{self.kind}({self.position!r}) on a plain {type(value2).__name__}",
                do=f"call {self.kind}() on a stream of plain values, or name a field of a tuple or Row",
            )
        if self.kind in _TAKES_NEW:
            return value2 if _TAKES_NEW[self.kind](value1, value2) else value1
        return _COMBINE[self.kind](value1, value2)


def _replaced(values: tuple[Any, ...], position: int | str, field: Any) -> Any:
    """A copy of the tuple (or named tuple) with one field changed."""
    if isinstance(position, str):
        return values._replace(**{position: field})  # type: ignore[attr-defined]
    changed = list(values)
    changed[position] = field
    return tuple(changed) if type(values) is tuple else type(values)(*changed)
