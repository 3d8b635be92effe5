"""Maxwell's change events: `{"data": row, "old": changed fields, "type": "insert" | "update" | "delete"}`."""

from __future__ import annotations

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
    RecordContext,
    Rows,
    malformed,
)
from penstock.formats.canal_json import old_row

NAME = "maxwell-json"


class MaxwellJsonDecoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._reader = json_format.RowReader(row_type, {**options, "decode.json-parser.enabled": False})
        self._names = row_type.field_names()
        self._lenient = bool(options["ignore-parse-errors"])

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
        kind = event.get("type")
        if kind not in ("insert", "update", "delete"):
            raise BadField(f"unknown 'type' value {kind!r}")
        if event.get("data") is None:
            raise BadField(f"the 'data' field of a {kind!r} record is null")
        row = self._reader.read(event["data"])
        if kind == "update":
            before = old_row(self._reader, self._names, event.get("old"), row)
            return [(UPDATE_BEFORE, before), (UPDATE_AFTER, row)]
        return [(INSERT if kind == "insert" else DELETE, row)]


class MaxwellJsonEncoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._write = json_format.RowWriter(row_type, options).write

    def encode(self, kind: int, row: Any) -> bytes:
        word = "insert" if kind in (INSERT, UPDATE_AFTER) else "delete"
        return f'{{"data":{self._write(row)},"type":"{word}"}}'.encode()


MAXWELL_JSON = Format(
    name=NAME,
    options=(
        json_format.IGNORE_PARSE_ERRORS,
        json_format.TIMESTAMP_FORMAT,
        *json_format.ENCODING_OPTIONS,
    ),
    decoder=MaxwellJsonDecoder,
    encoder=MaxwellJsonEncoder,
    check=json_format.check,
    changelog=True,
)

__all__ = ["MAXWELL_JSON", "MaxwellJsonDecoder", "MaxwellJsonEncoder"]
