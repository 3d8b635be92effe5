"""The form in which results of two engines are compared.

The recorded answers hold JSON: what JSON has no type for is a tagged text (`dec:1.50`, `date:2024-01-01`), a
row is `{"row": [...]}`, a map a sorted list of pairs. Floats keep twelve significant digits.
"""

from __future__ import annotations

import base64
import collections
import datetime as dt
import decimal
import json
import math
from typing import Any

_ADDS = {"+I": 1, "+U": 1, "-U": -1, "-D": -1}


def canonical(value: Any) -> Any:
    """`value` as JSON data that is equal for equal values of any engine."""
    kind = type(value).__name__
    if kind == "Row":
        return {"row": [canonical(field) for field in value]}
    if kind == "Instant":
        since_epoch = dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return canonical(dt.datetime(1970, 1, 1) + since_epoch)
    if value is None or isinstance(value, bool | int | str):
        return value
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(value)
    return f"str:{value}"


def _float(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(f"{value:.12g}")


def _trimmed(text: str) -> str:
    """A time with microseconds, without the zeros (and the point) at its end."""
    return text.rstrip("0").rstrip(".")


def _timestamp(value: dt.datetime) -> str:
    return "ts:" + _trimmed(value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds"))


def _map(value: dict[Any, Any]) -> Any:
    pairs = [[canonical(key), canonical(item)] for key, item in value.items()]
    return {"map": sorted(pairs, key=_sort_key)}


_CONVERSIONS: tuple[tuple[Any, Any], ...] = (
    (float, _float),
    (decimal.Decimal, lambda v: "dec:" + format(v, "f")),
    (dt.datetime, _timestamp),  # before date: a datetime is one
    (dt.date, lambda v: "date:" + v.isoformat()),
    (dt.time, lambda v: "time:" + _trimmed(v.isoformat(timespec="microseconds"))),
    (dt.timedelta, lambda v: f"interval-ms:{round(v.total_seconds() * 1000)}"),
    ((bytes, bytearray), lambda v: "bytes:" + base64.b64encode(bytes(v)).decode()),
    (dict, _map),
    ((list, tuple), lambda v: [canonical(item) for item in v]),
)


def _sort_key(data: Any) -> str:
    return json.dumps(data, sort_keys=True)


def table_after(changelog: list[tuple[str, Any]]) -> list[Any]:
    """The rows that a changelog leaves behind, sorted.

    Raises:
        AssertionError: A row was withdrawn more often than it was added.
    """
    counts: collections.Counter[str] = collections.Counter()
    for kind, row in changelog:
        counts[_sort_key(row)] += _ADDS[kind]
    negative = [row for row, count in counts.items() if count < 0]
    if negative:
        raise AssertionError(f"withdrawn but never added: {negative[0]}")
    return [json.loads(row) for row in sorted(counts) for _ in range(counts[row])]
