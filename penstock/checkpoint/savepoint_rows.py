"""Rows of a savepoint: records of the store, taken apart and readable.

A row has the parts of a record twice: as JSON text to read and query, and as the exact bytes from which the
record is put together again. Whoever changes or makes rows (the state processor) has to set the bytes; the
text is for people and is ignored on restore.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.common.errors import CheckpointError, PenstockError
from penstock.common.types import Row
from penstock.state.encoding import (
    Full,
    chunk_number,
    component,
    group_bytes,
    group_of,
    is_long,
    ordered_time,
    pack_value,
)
from penstock.state.files import ARRANGED
from penstock.state.records import TIMER, RecordParts, RecordReader, Schemas
from penstock.state.schema import ARRANGEMENT
from penstock.state.slots import table_name

ROW_SCHEMA = pa.schema(
    [
        ("uid", pa.string()),
        ("state", pa.string()),
        ("kind", pa.string()),
        ("key_group", pa.int32()),
        ("key", pa.string()),
        ("namespace", pa.string()),
        ("map_key", pa.string()),
        ("value", pa.string()),
        ("position", pa.int64()),
        ("accessed_ms", pa.int64()),
        ("key_bytes", pa.binary()),
        ("namespace_bytes", pa.binary()),
        ("map_key_bytes", pa.binary()),
        ("value_bytes", pa.binary()),
    ]
)
"""`position` is the number of a list's chunk, the time of a timer, or the last key group of an arrangement's block.
`accessed_ms` is there with a TTL."""

SavepointRow = dict[str, Any]
_SCALARS = frozenset({int, str, float, bool, type(None)})
_to_json = json.JSONEncoder(
    ensure_ascii=False, default=repr
).encode  # made once: it is called for every record


class RowMaker:
    """Turns the records of one operator into rows. `schemas` are the records of the table `m`."""

    def __init__(self, uid: str, schemas: Schemas) -> None:
        self._uid = uid
        self._reader = RecordReader(schemas)

    def row(self, table: str, store_key: bytes, raw: bytes) -> SavepointRow:
        reader, parts = self._reader, self._reader.parts(table, store_key, raw)
        row: SavepointRow = dict.fromkeys(ROW_SCHEMA.names)
        row.update(uid=self._uid, state=parts.state, kind=parts.kind, key_group=parts.group)
        row.update(key=as_text(reader.key, parts), key_bytes=parts.key, namespace_bytes=parts.namespace)
        row.update(position=parts.position, accessed_ms=parts.accessed_ms, value_bytes=parts.payload)
        if parts.namespace:
            row["namespace"] = as_text(reader.namespace, parts)
        if parts.map_key is not None:
            row.update(map_key=as_text(reader.map_key, parts), map_key_bytes=parts.map_key)
        if parts.payload:
            row["value"] = as_text(reader.value, parts)
        return row

    def arranged(self, table: str, key: bytes, stream: bytes) -> SavepointRow:
        """A block of an arrangement: an Arrow stream of rows of the key groups from `key_group` to `position`."""
        row: SavepointRow = dict.fromkeys(ROW_SCHEMA.names)
        row.update(
            uid=self._uid, state=table.removeprefix(ARRANGED), kind=ARRANGEMENT, key_group=group_of(key)
        )
        row.update(position=group_of(key[2:]), key_bytes=key, namespace_bytes=b"", value_bytes=stream)
        return row


def record_of(row: SavepointRow) -> tuple[str, bytes, bytes]:
    """The record of a row: table, key and value as the store has them."""
    key, namespace = row["key_bytes"], row["namespace_bytes"] or b""
    map_key = row["map_key_bytes"] if row["kind"] == "map" else None
    if key is None or (row["kind"] == "map" and map_key is None):
        raise CheckpointError(f"a savepoint row of state {row['state']!r} has no key bytes")
    full: Full | None = (
        key if is_long(key) else None,
        namespace if is_long(namespace) else None,
        map_key if map_key is not None and is_long(map_key) else None,
    )
    if full == (None, None, None):
        full = None
    group = group_bytes(row["key_group"])
    if row["kind"] == TIMER:
        store_key = group + ordered_time(row["position"]) + component(key) + component(namespace)
        return f"t/{row['state']}", store_key, pack_value(b"", full)
    store_key = group + component(key) + component(namespace)
    if map_key is not None:
        store_key += component(map_key)
    elif row["kind"] == "list":
        store_key += chunk_number(row["position"] or 0)
    value = pack_value(row["value_bytes"] or b"", full, row["accessed_ms"])
    return table_name(row["state"]), store_key, value


def as_text(read: Callable[[RecordParts], Any], parts: RecordParts) -> str | None:
    """JSON for people, None where the value cannot be shown (its class is not here, its bytes are opaque)."""
    try:
        return to_json(read(parts))
    except (PenstockError, ImportError, AttributeError, ValueError, TypeError):
        return None


def to_json(value: Any) -> str:
    """Any value as JSON; what has no such form as Python shows it."""
    kind = type(value)
    if kind is int:
        return int.__repr__(value)
    return _to_json(value if kind is str else _plain(value))


def _plain(value: Any) -> Any:
    """The value in terms of JSON; what has no such form is left for `default`."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Row):
        names = value.get_field_names()
        values = [_plain(item) for item in value]
        return dict(zip(names, values, strict=True)) if names else values
    if isinstance(value, dict):
        return {
            k if isinstance(k, str) else json.dumps(_plain(k), default=repr): _plain(v)
            for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return value
