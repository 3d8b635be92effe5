"""Debezium's change events: `{"before": row, "after": row, "op": "c" | "r" | "u" | "d"}`.

An update becomes a -U and a +U row and needs its old row. Written, it is a `d` record and a `c` record,
because the writer sees its two halves apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    boolean,
    malformed,
)

NAME = "debezium-json"


_CHANGES = {
    "c": ((INSERT, "after"),),
    "r": ((INSERT, "after"),),
    "u": ((UPDATE_BEFORE, "before"), (UPDATE_AFTER, "after")),
    "d": ((DELETE, "before"),),
}


def changes_of(event: Mapping[str, Any], read: Callable[[Any], tuple[Any, ...]]) -> Rows:
    """The changes that an event of Debezium's stands for; `read` makes a row of its `before` or `after`."""
    op = event.get("op")
    if not isinstance(op, str) or op not in _CHANGES:
        raise BadField(f"unknown 'op' value {op!r}")
    rows: Rows = []
    for kind, part in _CHANGES[op]:
        value = event.get(part)
        if value is None:
            hint = "; if the source is Postgres, set REPLICA IDENTITY FULL" if part == "before" else ""
            raise BadField(f"the '{part}' field of a {op!r} record is null{hint}")
        rows.append((kind, read(value)))
    return rows


class DebeziumJsonDecoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._read = json_format.RowReader(row_type, {**options, "decode.json-parser.enabled": False}).read
        self._lenient = bool(options["ignore-parse-errors"])
        self._wrapped = bool(options["schema-include"])

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        if not record:  # a tombstone
            return []
        try:
            value = json_format.parse_json(record)
            events = value if isinstance(value, list) else [value]
            return [change for event in events for change in self._changes(event)]
        except ValueError as error:
            if self._lenient:
                return []
            raise malformed(error, record, context, NAME) from None

    def _changes(self, event: Any) -> Rows:
        if self._wrapped:
            event = event.get("payload") if isinstance(event, dict) else None
        if not isinstance(event, dict):
            raise BadField("expected an object with 'before', 'after' and 'op'")
        return changes_of(event, self._read)


class DebeziumJsonEncoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._write = json_format.RowWriter(row_type, options).write

    def encode(self, kind: int, row: Any) -> bytes:
        text = self._write(row)
        if kind in (INSERT, UPDATE_AFTER):
            return f'{{"before":null,"after":{text},"op":"c"}}'.encode()
        return f'{{"before":{text},"after":null,"op":"d"}}'.encode()


DEBEZIUM_JSON = Format(
    name=NAME,
    options=(
        Option("schema-include", boolean, False),
        json_format.IGNORE_PARSE_ERRORS,
        json_format.TIMESTAMP_FORMAT,
        *json_format.ENCODING_OPTIONS,
    ),
    decoder=DebeziumJsonDecoder,
    encoder=DebeziumJsonEncoder,
    check=json_format.check,
    changelog=True,
)

__all__ = ["DEBEZIUM_JSON", "DebeziumJsonDecoder", "DebeziumJsonEncoder"]
