"""JSON_OBJECTAGG and JSON_ARRAYAGG over values that are JSON texts already; NULL is JSON's null."""

from __future__ import annotations

import json
from typing import Any

from penstock.common.json_keys import unique_keys
from penstock.delta.aggregates.ordered import ValueList


class JsonArrayAgg(ValueList):
    """JSON_ARRAYAGG, in order of arrival: NULLs are left out unless `null_on_null`; `[]` for none."""

    def __init__(self, null_on_null: bool) -> None:
        self._null_on_null = null_on_null

    skips_nulls = False

    def result(self, acc: list[Any]) -> str:
        shown = ["null" if text is None else text for text in acc if self._null_on_null or text is not None]
        return f"[{','.join(shown)}]"


class JsonObjectAgg(ValueList):
    """JSON_OBJECTAGG of (key, value) pairs, sorted by key. A key can be there only once."""

    skips_nulls = False

    def __init__(self, null_on_null: bool) -> None:
        self._null_on_null = null_on_null

    def result(self, acc: list[Any]) -> str:
        pairs = unique_keys(acc)
        shown = [
            f"{json.dumps(key, ensure_ascii=False)}:{'null' if pairs[key] is None else pairs[key]}"
            for key in sorted(pairs)
            if self._null_on_null or pairs[key] is not None
        ]
        return f"{{{','.join(shown)}}}"
