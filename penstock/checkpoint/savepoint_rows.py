"""Rows of a savepoint: records of the store, taken apart and readable.

A row has the parts of a record twice: as JSON text to read and query, and as the exact bytes from which the
record is put together again. Whoever changes or makes rows (the state processor) has to set the bytes; the
text is for people and is ignored on restore.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable
from typing import Any

import cloudpickle
import pyarrow as pa

from penstock.common.codecs import compile_codec
from penstock.common.errors import CheckpointError, PenstockError
from penstock.common.types import Row
from penstock.state.encoding import (
    Full,
    chunk_number,
    component,
    decode_namespace,
    group_bytes,
    group_of,
    is_long,
    ordered_time,
    pack_value,
    read_chunk_number,
    read_time,
    unpack_value,
)
from penstock.state.files import ARRANGED
from penstock.state.keyed import record_parts
from penstock.state.list_state import split_times
from penstock.state.map_state import KeyedMapState
from penstock.state.schema import ARRANGEMENT, KEY_RECORD, StateSchema
from penstock.state.slots import table_name
from penstock.state.timers import timer_parts

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

TIMER = "timer"
SavepointRow = dict[str, Any]
_Reader = Callable[[bytes], Any]


class RowMaker:
    """Turns the records of one operator into rows. `schemas` are the records of the table `m`."""

    def __init__(self, uid: str, schemas: dict[bytes, StateSchema]) -> None:
        self._uid = uid
        records = [s for key, s in schemas.items() if key != KEY_RECORD and s.kind != ARRANGEMENT]
        self._by_table = {table_name(s.name): s for s in records}
        self._readers = {table: _value_readers(s) for table, s in self._by_table.items()}
        self._read_key = _reader(_type_info(schemas[KEY_RECORD])) if KEY_RECORD in schemas else _unreadable

    def row(self, table: str, store_key: bytes, raw: bytes) -> SavepointRow:
        if table.startswith("t/"):
            return self._timer(table, store_key, raw)
        schema = self._by_table[table]
        key, namespace = record_parts(store_key, raw)
        _, accessed, payload = unpack_value(raw)
        read_map_key, read_value = self._readers[table]
        row = self._common(schema.name, schema.kind, store_key, key, namespace)
        row.update(value=_text(read_value, payload) if payload else None, value_bytes=payload)
        row["accessed_ms"] = accessed
        if schema.kind == "map":
            map_key = KeyedMapState.map_key_bytes(store_key, raw)
            row.update(map_key=_text(read_map_key, map_key), map_key_bytes=map_key)
        elif schema.kind == "list":
            row["position"] = read_chunk_number(store_key)
            if accessed is not None:
                row["value"] = _text(lambda data: read_value(split_times(data)[1]), payload)
        return row

    def arranged(self, table: str, key: bytes, stream: bytes) -> SavepointRow:
        """A block of an arrangement: an Arrow stream of rows of the key groups from `key_group` to `position`."""
        row: SavepointRow = dict.fromkeys(ROW_SCHEMA.names)
        row.update(
            uid=self._uid, state=table.removeprefix(ARRANGED), kind=ARRANGEMENT, key_group=group_of(key)
        )
        row.update(position=group_of(key[2:]), key_bytes=key, namespace_bytes=b"", value_bytes=stream)
        return row

    def _timer(self, table: str, store_key: bytes, raw: bytes) -> SavepointRow:
        key, namespace = timer_parts(store_key, raw)
        row = self._common(table[2:], TIMER, store_key, key, namespace)
        row.update(position=read_time(store_key, 2), value_bytes=b"")
        return row

    def _common(self, state: str, kind: str, store_key: bytes, key: bytes, namespace: bytes) -> SavepointRow:
        row: SavepointRow = dict.fromkeys(ROW_SCHEMA.names)
        row.update(uid=self._uid, state=state, kind=kind, key_group=group_of(store_key))
        row.update(key=_text(self._read_key, key), key_bytes=key, namespace_bytes=namespace)
        row["namespace"] = _text(decode_namespace, namespace) if namespace else None
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


def _value_readers(schema: StateSchema) -> tuple[_Reader, _Reader]:
    """How to decode the map key and the value of a state's records."""
    type_info = _type_info(schema)
    if schema.kind == "map":
        return _reader(getattr(type_info, "key_type_info", None)), _reader(
            getattr(type_info, "value_type_info", None)
        )
    if schema.kind == "list":
        element = getattr(type_info, "elem_type", None)
        return _unreadable, compile_codec(element).decode_batch
    return _unreadable, _reader(type_info)


def _reader(type_info: Any) -> _Reader:
    return compile_codec(type_info).decode


def _unreadable(data: bytes) -> Any:
    raise CheckpointError("no type is known for these bytes")


def _type_info(schema: StateSchema) -> Any:
    return cloudpickle.loads(base64.b64decode(schema.type_info))


def _text(read: _Reader, data: bytes) -> str | None:
    """JSON for people, None where the value cannot be shown (its class is not here, its bytes are opaque)."""
    try:
        return json.dumps(_plain(read(data)), ensure_ascii=False, default=repr)
    except (PenstockError, ImportError, AttributeError, ValueError, TypeError):
        return None


def _plain(value: Any) -> Any:
    """The value in terms of JSON; what has no such form is left for `default`."""
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
