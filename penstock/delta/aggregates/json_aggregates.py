"""JSON_OBJECTAGG and JSON_ARRAYAGG: compact text, keys and elements in order of arrival."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

from penstock.delta.aggregates.ordered import ValueList


def json_text(value: Any) -> str:
    """A SQL value as compact JSON."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(json_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(str(k))}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, dt.datetime):
        return json.dumps(value.isoformat())
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


class JsonArrayAgg(ValueList):
    """JSON_ARRAYAGG: NULLs are left out unless `null_on_null`; `[]` for none."""

    def __init__(self, null_on_null: bool) -> None:
        self._null_on_null = null_on_null

    skips_nulls = False

    def result(self, acc: list[Any]) -> str:
        kept = acc if self._null_on_null else [value for value in acc if value is not None]
        return json_text(kept)


class JsonObjectAgg(ValueList):
    """JSON_OBJECTAGG of (key, value) pairs; a later value of the same key replaces the former."""

    skips_nulls = False

    def __init__(self, null_on_null: bool) -> None:
        self._null_on_null = null_on_null

    def result(self, acc: list[Any]) -> str:
        pairs = {key: value for key, value in acc if self._null_on_null or value is not None}
        return json_text(pairs)
