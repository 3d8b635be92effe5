"""Records of a store, taken apart: which state, which key and window they belong to, and the value.

Backends read their records through State objects. Whoever looks at state from outside (savepoints, the state
processor, queries of a running job) has only the bytes, and what the table `m` tells about them:

    record    s/count · 0x0007 · 'a' · void   ->   RecordParts(state count, kind value, group 7, key 'a', …)

The parts are still bytes. `RecordReader` knows the declared types and turns them into values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.common.codecs import Codec, compile_codec
from penstock.common.errors import CheckpointError
from penstock.state.encoding import decode_namespace, group_of, read_chunk_number, read_time, unpack_value
from penstock.state.keyed import record_parts
from penstock.state.list_state import split_times
from penstock.state.map_state import KeyedMapState
from penstock.state.schema import ARRANGEMENT, KEY_RECORD, StateSchema, element_types
from penstock.state.slots import table_name
from penstock.state.timers import timer_parts

TIMER = "timer"
"""The kind of timers among the kinds of state; their states are called `event` and `processing`."""
TIMERS = "t/"
"""Tables whose names begin so hold timers."""

Schemas = Mapping[bytes, StateSchema]
"""The records of the table `m`."""


class RecordParts(NamedTuple):
    """One record. `position` is the number of a list's chunk or the time of a timer."""

    state: str
    kind: str
    group: int
    key: bytes
    namespace: bytes
    map_key: bytes | None
    position: int | None
    accessed_ms: int | None
    payload: bytes


class RecordReader:
    """Takes the records of one operator apart, and decodes them as they were declared."""

    def __init__(self, schemas: Schemas) -> None:
        records = [s for key, s in schemas.items() if key != KEY_RECORD and s.kind != ARRANGEMENT]
        self.schemas = {s.name: s for s in records}
        self._by_table = {table_name(s.name): s for s in records}
        self._decode_key = _codecs(schemas[KEY_RECORD])[1] if KEY_RECORD in schemas else _unreadable
        self._codecs = {s.name: _codecs(s) for s in records}

    def parts(self, table: str, store_key: bytes, raw: bytes) -> RecordParts:
        """The parts of a record.

        Raises:
            CheckpointError: Nothing is known about its state.
        """
        if table.startswith(TIMERS):
            key, namespace = timer_parts(store_key, raw)
            time_ms = read_time(store_key, 2)
            return RecordParts(
                table[2:], TIMER, group_of(store_key), key, namespace, None, time_ms, None, b""
            )
        schema = self._by_table.get(table)
        if schema is None:
            raise CheckpointError(f"nothing is known about the state of table {table!r}")
        key, namespace = record_parts(store_key, raw)
        _, accessed, payload = unpack_value(raw)
        map_key = KeyedMapState.map_key_bytes(store_key, raw) if schema.kind == "map" else None
        position = read_chunk_number(store_key) if schema.kind == "list" else None
        group = group_of(store_key)
        return RecordParts(
            schema.name, schema.kind, group, key, namespace, map_key, position, accessed, payload
        )

    def key(self, parts: RecordParts) -> Any:
        return self._decode_key(parts.key)

    def namespace(self, parts: RecordParts) -> Any:
        return decode_namespace(parts.namespace)

    def map_key(self, parts: RecordParts) -> Any:
        return self._codecs[parts.state][0](parts.map_key or b"")

    def value(self, parts: RecordParts) -> Any:
        """The value; a list of elements for a chunk of a list."""
        if parts.kind == "list":
            elements = parts.payload if parts.accessed_ms is None else split_times(parts.payload)[1]
            return self._codecs[parts.state][1](elements)
        return self._codecs[parts.state][1](parts.payload) if parts.payload else None


def _codecs(schema: StateSchema) -> tuple[Callable[[bytes], Any], Callable[[bytes], Any]]:
    """How to decode the map key and the value of a state's records; what cannot be had here fails when it is used."""
    try:
        key_type, value_type = element_types(schema)
    except (ImportError, AttributeError):  # a type of the program's own, which is not here
        return _unreadable, _unreadable
    codec: Codec = compile_codec(value_type)
    decode = codec.decode_batch if schema.kind == "list" else codec.decode
    return compile_codec(key_type).decode if schema.kind == "map" else _unreadable, decode


def _unreadable(data: bytes) -> Any:
    raise CheckpointError("no type is known for these bytes")
