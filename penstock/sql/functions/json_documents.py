"""Reading and writing JSON the way Flink does, in plain Python.

Numbers keep their text (2.50 stays 2.50), objects are written with sorted keys and without blanks. Paths
are JSONPath: `$`, `.name`, `['name']`, `[0]`, `[-1]`, `[1,2]`, `[1:3]`, `[*]`, `..name`, `[?(@.a > 1)]`. A path
is *definite* if it names one place; then a place that is not there is an error in strict mode and nothing in
lax mode. Any other path gives the list of what it finds. A path without a mode is strict.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import msgspec


class NotFound(Exception):
    """Nothing is at the path."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_FAST = msgspec.json.Decoder(float_hook=decimal.Decimal)
_PATIENT = json.JSONDecoder(parse_float=decimal.Decimal, parse_constant=_refuse_constant)


def read(text: str) -> Any:
    """The document as Python values, numbers with a fraction as Decimal; raises ValueError.

    What the fast decoder does not take is for the other to judge: only that one takes half a surrogate pair.
    """
    try:
        return _FAST.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return _PATIENT.decode(text)


# --- paths ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One step of a path: kind is "keys", "items", "slice", "all", "deep" or "filter"."""

    kind: str
    value: Any = None

    @property
    def is_definite(self) -> bool:
        return self.kind in ("keys", "items") and len(self.value) == 1


@dataclass(frozen=True)
class Path:
    lax: bool
    steps: tuple[Step, ...]

    @cached_property
    def is_definite(self) -> bool:
        return all(step.is_definite for step in self.steps)


_STEP = re.compile(
    r"\.\.(?P<deep>[\w$-]+|\*)|\.?\[\s*(?P<all>\*)\s*\]|\.(?P<star>\*)|\.(?P<name>[^.\[\]]+)"
    r"|\.?\[\s*(?P<keys>(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"))*)\s*\]"
    r"|\.?\[\s*(?P<from>-?\d*)\s*:\s*(?P<to>-?\d*)\s*\]|\.?\[\s*(?P<items>-?\d+(?:\s*,\s*-?\d+)*)\s*\]"
    r"|\.?\[\s*\?\s*\((?P<filter>.*?)\)\s*\]"
)


@lru_cache(maxsize=512)
def path_of(text: str) -> Path:
    """The parsed path; raises ValueError."""
    found = re.match(r"\s*(?:(lax|strict)\s+)?(.*)$", text, re.IGNORECASE | re.DOTALL)
    assert found is not None
    lax, body = (found[1] or "").lower() == "lax", found[2].strip()
    if not body.startswith("$"):
        body = "$." + body
    steps, at = [], 1
    while at < len(body):
        step = _STEP.match(body, at)
        if step is None:
            raise ValueError(f"cannot read the JSON path {text!r} at {body[at:]!r}")
        steps.append(_step(step))
        at = step.end()
    return Path(lax, tuple(steps))


def _step(m: re.Match[str]) -> Step:
    if m["deep"]:
        return Step("deep", m["deep"])
    if m["all"] or m["star"]:
        return Step("all")
    if m["name"]:
        return Step("keys", (m["name"].strip(),))
    if m["keys"]:
        return Step(
            "keys",
            tuple(a or b for a, b in re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", m["keys"])),
        )
    if m["items"]:
        return Step("items", tuple(int(i) for i in m["items"].split(",")))
    if m["filter"] is not None:
        return Step("filter", _condition(m["filter"]))
    return Step("slice", tuple(int(t) if t else None for t in (m["from"], m["to"])))


def _condition(text: str) -> tuple[tuple[Step, ...], str | None, Any]:
    found = re.match(r"\s*@(?P<path>[^\s=!<>]*)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<value>.+?))?\s*$", text)
    if not found:
        raise ValueError(f"cannot read the filter {text!r}")
    value = found["value"]
    if value is not None:
        value = json.loads(
            '"' + value[1:-1] + '"' if value.startswith("'") else value, parse_float=decimal.Decimal
        )
    return path_of("$" + found["path"]).steps, found["op"], value


def query(text: str, path_text: str) -> tuple[Path, Any]:
    """What is at the path; raises NotFound or ValueError in strict mode, gives None instead in lax mode."""
    path = path_of(path_text)
    try:
        document = read(text)
    except (ValueError, RecursionError):
        if path.lax:
            return path, None
        raise
    if not path.is_definite:
        return path, list(_walk(document, path.steps))
    try:
        return path, _follow(document, path.steps)
    except NotFound:
        if path.lax:
            return path, None
        raise


def _follow(value: Any, steps: Iterable[Step]) -> Any:
    for step in steps:
        if step.kind == "keys" and len(step.value) == 1:  # nearly always
            if not isinstance(value, dict) or step.value[0] not in value:
                raise NotFound
            value = value[step.value[0]]
            continue
        found = list(_children(value, step))
        if not found:
            raise NotFound
        value = found[0]
    return value


def _walk(value: Any, steps: tuple[Step, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    for child in _children(value, steps[0]):
        yield from _walk(child, steps[1:])


def _children(value: Any, step: Step) -> Iterator[Any]:
    if step.kind == "keys" and isinstance(value, dict):
        yield from (value[key] for key in step.value if key in value)
    elif step.kind == "items" and isinstance(value, list):
        yield from (value[i] for i in step.value if -len(value) <= i < len(value))
    elif step.kind == "slice" and isinstance(value, list):
        yield from value[slice(*step.value)]
    elif step.kind == "all" and isinstance(value, (dict, list)):
        yield from value.values() if isinstance(value, dict) else value
    elif step.kind == "deep":
        yield from _deep(value, step.value)
    elif step.kind == "filter" and isinstance(value, (dict, list)):
        candidates = value if isinstance(value, list) else [value]
        yield from (item for item in candidates if _holds(item, *step.value))


def _deep(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if name != "*" and name in value:
            yield value[name]
        for child in value.values():
            if name == "*":
                yield child
            yield from _deep(child, name)
    elif isinstance(value, list):
        for child in value:
            if name == "*":
                yield child
            yield from _deep(child, name)


def _holds(item: Any, steps: tuple[Step, ...], operator: str | None, wanted: Any) -> bool:
    try:
        value = _follow(item, steps)
    except NotFound:
        return False
    if operator is None:
        return True
    if operator in ("==", "!="):
        return (value == wanted) == (operator == "==")
    try:
        return bool(
            {"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}[operator]
        )
    except TypeError:
        return False


# --- writing --------------------------------------------------------------------------------------------


def java_double(value: float) -> str:
    """A double as Java's Double.toString writes it.

    >>> java_double(1e20), java_double(0.5), java_double(123.0)
    ('1.0E20', '0.5', '123.0')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(decimal.Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def write(value: Any) -> str:
    """A value as JSON text, compact, keys sorted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    if isinstance(value, float):
        return str(decimal.Decimal(java_double(value))) if value - value == 0 else f'"{java_double(value)}"'
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dt.datetime):
        return f'"{_moment(value)}"'
    if isinstance(value, (bytes, bytearray)):
        return f'"{base64.b64encode(bytes(value)).decode()}"'
    if hasattr(value, "__fields__"):
        pairs: Iterable[tuple[Any, Any]] = zip(value.__fields__, value, strict=False)
        return "{" + ",".join(f"{write(str(k))}:{write(v)}" for k, v in pairs) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{write(str(k))}:{write(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(write, value)) + "]"
    return json.dumps(str(value))


def _moment(value: dt.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") if "." in text else text


def compact(text: str) -> str:
    """A JSON text as Flink writes it back."""
    return write(read(text))


def write_object(pairs: Iterable[tuple[str, Any, bool]], keep_null: bool) -> str:
    """An object from (name, value, is JSON already); sorted by name, the last of equal names wins."""
    texts: dict[str, str] = {}
    for name, value, raw in pairs:
        if value is None:
            if keep_null:
                texts[name] = "null"
            else:
                texts.pop(name, None)
        else:
            texts[name] = compact(value) if raw else write(value)
    return "{" + ",".join(f"{write(name)}:{texts[name]}" for name in sorted(texts)) + "}"


def write_array(values: Iterable[tuple[Any, bool]], keep_null: bool) -> str:
    """An array from (value, is JSON already)."""
    texts = [
        "null" if v is None else compact(v) if raw else write(v)
        for v, raw in values
        if keep_null or v is not None
    ]
    return "[" + ",".join(texts) + "]"
