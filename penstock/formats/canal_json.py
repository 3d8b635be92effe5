"""Canal's change events: `{"data": [row, ...], "old": [changed fields, ...], "type": "INSERT" | ...}`.

`old` holds only the fields that an update changed; the others are taken from the new row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import RowType
from penstock.formats import json as json_format
from penstock.formats.base import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    BadField,
    Format,
    Option,
    RecordContext,
    Rows,
    malformed,
)

NAME = "canal-json"


def old_row(
    reader: json_format.RowReader, names: list[str], old: Any, new: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The row before an update: `old` where it names a field, the new row elsewhere."""
    if not isinstance(old, dict):
        raise BadField("an update needs 'old', the fields it changed")
    before = reader.read(old)
    return tuple(before[i] if name in old else new[i] for i, name in enumerate(names))


class CanalJsonDecoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._reader = json_format.RowReader(row_type, {**options, "decode.json-parser.enabled": False})
        self._names = row_type.field_names()
        self._lenient = bool(options["ignore-parse-errors"])
        self._includes = [
            (field, options[f"{field}.include"])
            for field in ("database", "table")
            if options[f"{field}.include"] is not None
        ]

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        if not record:
            return []
        try:
            return self._changes(json_format.parse_json(record))
        except ValueError as error:
            if self._lenient:
                return []
            raise malformed(error, record, context, NAME) from None

    def _changes(self, event: Any) -> Rows:
        if not isinstance(event, dict):
            raise BadField("expected an object with 'data' and 'type'")
        for field, pattern in self._includes:
            if not pattern.fullmatch(str(event.get(field))):
                return []
        kind = event.get("type")
        if kind == "CREATE":
            return []
        if kind not in ("INSERT", "UPDATE", "DELETE"):
            raise BadField(f"unknown 'type' value {kind!r}")
        data = event.get("data")
        if not isinstance(data, list):
            raise BadField(f"'data' of a {kind} record must be an array of rows")
        rows = [self._reader.read(item) for item in data]
        if kind == "UPDATE":
            return self._updates(rows, event.get("old"))
        return [(INSERT if kind == "INSERT" else DELETE, row) for row in rows]

    def _updates(self, rows: list[tuple[Any, ...]], old: Any) -> Rows:
        if not isinstance(old, list) or len(old) < len(rows):
            raise BadField("an update needs 'old', the fields it changed")
        changes: Rows = []
        for row, changed in zip(rows, old, strict=False):
            changes.append((UPDATE_BEFORE, old_row(self._reader, self._names, changed, row)))
            changes.append((UPDATE_AFTER, row))
        return changes


class CanalJsonEncoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._write = json_format.RowWriter(row_type, options).write

    def encode(self, kind: int, row: Any) -> bytes:
        word = "INSERT" if kind in (INSERT, UPDATE_AFTER) else "DELETE"
        return f'{{"data":[{self._write(row)}],"type":"{word}"}}'.encode()


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression ({error})") from None


CANAL_JSON = Format(
    name=NAME,
    options=(
        json_format.IGNORE_PARSE_ERRORS,
        json_format.TIMESTAMP_FORMAT,
        Option("database.include", _pattern, None),
        Option("table.include", _pattern, None),
        *json_format.ENCODING_OPTIONS,
    ),
    decoder=CanalJsonDecoder,
    encoder=CanalJsonEncoder,
    check=json_format.check,
    changelog=True,
)

__all__ = ["CANAL_JSON", "CanalJsonDecoder", "CanalJsonEncoder"]
