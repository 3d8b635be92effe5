"""JSONPath as Flink's library understands it.

A path is `$` and steps: `.name`, `['name']`, `['a','b']`, `[0]`, `[-1]`, `[1,2]`, `[1:3]`, `[*]`, `.*`, `..name`,
`[?(@.a > 1)]` and, at the end, a function such as `.length()`. A step is *definite* if it names one place. Below
definite steps, a place that is not there is an error; below others it is passed over:

    $.a.b       {"x": 1}               an error
    $[*].b      [{"b": 1}, {"c": 2}]   [1]
    $.a[*].b    {"x": 1}               an error, because `.a` is definite

A path of definite steps gives the value that it finds, any other one the list of what it finds.
"""

from __future__ import annotations

import decimal
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from penstock.sql.functions.json_filters import Filter, filter_of

__all__ = ["JsonPath", "PathError", "path_of"]


class PathError(ValueError):
    """The path is none, or leads nowhere."""


@dataclass(frozen=True)
class Step:
    """One step of a path.

    `kind` is "keys", "items", "slice", "all", "filter" or "function"; with `deep` it is taken from everything inside.
    """

    kind: str
    value: Any = None
    deep: bool = False


@dataclass(frozen=True)
class JsonPath:
    steps: tuple[Step, ...]

    @cached_property
    def is_definite(self) -> bool:
        return all(self._definite(place) for place in range(len(self.steps)))

    def _definite(self, place: int) -> bool:
        step = self.steps[place]
        if step.deep or step.kind in ("slice", "all", "filter"):
            return False
        if step.kind == "keys":  # several keys at the end are put together to one object
            return len(step.value) == 1 or place == len(self.steps) - 1
        return step.kind == "function" or len(step.value) == 1

    def read(self, document: Any, root: Any = None) -> Any:
        """What is there; raises PathError."""
        found = list(self._walk(document, 0, True, document if root is None else root))
        if not self.is_definite:
            return found
        if not found:
            raise PathError("there is nothing at the path")
        return found[-1]

    def _walk(self, value: Any, place: int, sure: bool, root: Any) -> Iterator[Any]:
        """The values below `value`; `sure` says that all steps up to here are definite."""
        if place == len(self.steps):
            yield value
            return
        step = self.steps[place]
        last = place == len(self.steps) - 1
        below = sure and self._definite(place)
        for child in self._children(value, step, sure, last, root):
            yield from self._walk(child, place + 1, below, root)

    def _children(self, value: Any, step: Step, sure: bool, last: bool, root: Any) -> Iterator[Any]:
        if not step.deep:
            yield from _TAKERS[step.kind](value, step.value, sure, last, root)
            return
        for inner in _everything(value):
            if _fits(inner, step, root):
                yield from _TAKERS[step.kind](inner, step.value, False, last, root)


def _everything(value: Any) -> Iterator[Any]:
    """The value and all objects and arrays in it, from above."""
    if isinstance(value, (dict, list)):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from _everything(child)


def _fits(value: Any, step: Step, root: Any) -> bool:
    if step.kind == "keys":
        return isinstance(value, dict) and all(key in value for key in step.value)
    return isinstance(value, list) or step.kind == "all"


# --- what a step takes ----------------------------------------------------------------------------------


def _keys(value: Any, names: tuple[str, ...], sure: bool, last: bool, root: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        if sure:
            raise PathError(f"{names[0]!r} is asked of something that is no object")
        return
    if last and len(names) > 1:
        yield {name: value[name] for name in names if name in value}
        return
    for name in names:
        if name in value:
            yield value[name]
        elif sure and not last and len(names) == 1:
            raise PathError(f"there is no {name!r}")


def _array(value: Any, sure: bool) -> list[Any]:
    if isinstance(value, list):
        return value
    if sure:
        raise PathError("an element is asked of something that is no array")
    return []


def _items(value: Any, places: tuple[int, ...], sure: bool, last: bool, root: Any) -> Iterator[Any]:
    array = _array(value, sure)
    yield from (array[i] for i in places if -len(array) <= i < len(array))


def _slice(
    value: Any, ends: tuple[int | None, int | None], sure: bool, last: bool, root: Any
) -> Iterator[Any]:
    array = _array(value, sure)
    start, stop = ends
    if start is not None and stop is not None:  # counted from the end only where an index is negative
        yield from _items(array, tuple(range(start, min(stop, len(array)))), False, last, root)
    else:
        yield from array[start:stop]


def _all(value: Any, _: Any, sure: bool, last: bool, root: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield from value.values() if isinstance(value, dict) else value


def _filtered(value: Any, condition: Filter, sure: bool, last: bool, root: Any) -> Iterator[Any]:
    if not isinstance(value, (dict, list)):
        if sure:
            raise PathError("a filter is applied to a primitive")
        return
    yield from (item for item in (value if isinstance(value, list) else [value]) if condition(item, root))


def _function(value: Any, name: str, sure: bool, last: bool, root: Any) -> Iterator[Any]:
    if name in ("length", "size"):
        yield len(value) if isinstance(value, (dict, list)) else None
    elif name == "keys":
        yield list(value) if isinstance(value, dict) else None
    elif name in ("first", "last") and isinstance(value, list) and value:
        yield value[0 if name == "first" else -1]
    elif name in _STATISTICS:
        yield _statistic(name, value)
    else:
        raise PathError(f"{name}() cannot be applied here")


_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "avg": statistics.fmean,
    "stddev": statistics.pstdev,
}


def _statistic(name: str, value: Any) -> float:
    items = value if isinstance(value, list) else []
    numbers = [float(v) for v in items if isinstance(v, (int, decimal.Decimal)) and not isinstance(v, bool)]
    if not numbers:
        raise PathError(f"{name}() of no numbers")
    return float(_STATISTICS[name](numbers))


_TAKERS: dict[str, Callable[..., Iterator[Any]]] = {
    "keys": _keys,
    "items": _items,
    "slice": _slice,
    "all": _all,
    "filter": _filtered,
    "function": _function,
}

# --- reading a path -------------------------------------------------------------------------------------

_STEP = re.compile(
    r"""(?P<dots>\.{0,2})(?:
        \[\s*(?P<all>\*)\s*\]
      | \[\s*(?P<keys>(?:'(?:[^'\\]|\\.)+'|"(?:[^"\\]|\\.)+")
                      (?:\s*,\s*(?:'(?:[^'\\]|\\.)+'|"(?:[^"\\]|\\.)+"))*)\s*\]
      | \[\s*(?P<from>-?\d*)\s*:\s*(?P<to>-?\d*)\s*\]
      | \[\s*(?P<items>-?\d+(?:\s*,\s*-?\d+)*)\s*\]
      | \[\s*\?\s*(?P<filter>\()
      | (?P<star>\*)
      | (?P<name>[^\s.\[\(*][^\s.\[\(]*)(?P<call>\(\s*\))?
    )""",
    re.X,
)
_KEY = re.compile(r"'((?:[^'\\]|\\.)+)'|\"((?:[^\"\\]|\\.)+)\"")


@lru_cache(maxsize=512)
def path_of(text: str) -> JsonPath:
    """The path of a text; raises PathError."""
    body = text.strip()
    if not body:
        raise PathError("a JSON path cannot be empty")
    if body[0] not in "$@":
        body = "$." + body
    if body.endswith("."):
        raise PathError(f"the JSON path {text!r} ends with a point")
    steps, at = [], 1
    while at < len(body):
        step, at = _step(text, body, at)
        steps.append(step)
    return JsonPath(tuple(steps))


def _step(text: str, body: str, at: int) -> tuple[Step, int]:
    found = _STEP.match(body, at)
    bare = found is not None and (found["name"] or found["star"]) and not found["dots"]
    if found is None or bare:
        raise PathError(f"cannot read the JSON path {text!r} at {body[at:]!r}")
    deep = found["dots"] == ".."
    if not found["filter"]:
        return _simple(found, deep), found.end()
    close = _closing(body, found.end())
    end = re.compile(r"\s*\]").match(body, close + 1)
    if end is None:
        raise PathError(f"the filter of {text!r} is not closed")
    try:
        return Step("filter", filter_of(body[found.end() : close]), deep), end.end()
    except PathError:
        raise
    except ValueError as error:
        raise PathError(str(error)) from None


def _closing(body: str, at: int) -> int:
    """Where the parenthesis closes that was opened before `at`."""
    depth = 1
    for part in re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[()]").finditer(body, at):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth == 0:
            return part.start()
    raise PathError(f"a parenthesis of {body!r} is not closed")


def _simple(found: re.Match[str], deep: bool) -> Step:
    if found["all"] or found["star"]:
        return Step("all", None, deep)
    if found["call"]:
        return Step("function", found["name"], deep)
    if found["name"]:
        return Step("keys", (found["name"],), deep)
    if found["keys"]:
        names = (a or b for a, b in _KEY.findall(found["keys"]))
        return Step("keys", tuple(re.sub(r"\\(.)", r"\1", name) for name in names), deep)
    if found["items"]:
        return Step("items", tuple(int(i) for i in found["items"].split(",")), deep)
    return Step("slice", tuple(int(t) if t else None for t in (found["from"], found["to"])), deep)
