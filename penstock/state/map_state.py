"""Map state: a record per map entry, so that one entry of a big map can be read and written alone.

The slot knows some entries, or all of them once the map was iterated. Entries are iterated in the order of
their encoded map keys, which does not depend on where an epoch was cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.state.descriptors import MapState, MapStateDescriptor
from penstock.state.encoding import (
    Full,
    component,
    is_long,
    pack_value,
    payload_of,
    split_component,
    unpack_value,
)
from penstock.state.overlay import ABSENT, UNLOADED, Cursor, Entry
from penstock.state.slots import LARGE_SLOT, Clock, SlotState, codec_for, normalizer
from penstock.state.store import Store

_EXACT = frozenset({str, int, bytes})
"""Types of untyped map keys whose equality is that of their bytes, among keys of these types."""


class _Encoded:
    """A map key that is identified by its bytes (see `state/overlay.py` for why)."""

    __slots__ = ("data", "key")

    def __init__(self, data: bytes, key: Any) -> None:
        self.data = data
        self.key = key

    def __eq__(self, other: object) -> bool:
        return type(other) is _Encoded and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)


class _Slot:
    """The map of one entry: what is known of it, by token (the map key or an `_Encoded`).

    `live` has ABSENT for map keys known to have no entry. `cleared`: what the store has counts no more.
    `complete`: what `live` does not have does not exist. `ordered`: `live` is in iteration order.
    """

    __slots__ = ("cleared", "complete", "dirty", "live", "ordered")

    def __init__(self) -> None:
        self.live: dict[Any, Any] = {}
        self.dirty: dict[Any, None] = {}
        self.cleared = False
        self.complete = False
        self.ordered = True


class KeyedMapState(SlotState, MapState[Any, Any]):
    """`MapState`, with and without a time to live (which is each map entry's own, as in Flink)."""

    def __init__(
        self, descriptor: MapStateDescriptor, cursor: Cursor, index: int, store: Store, clock: Clock
    ) -> None:
        super().__init__(descriptor, cursor, index, store, clock)
        self._key_codec = codec_for(descriptor.key_type_info)
        self._codec = codec_for(descriptor.value_type_info)
        self._plain, self._normalize = normalizer(self._codec, descriptor.name)
        # Map keys of exactly these types are tokens as they are; all others go through their bytes.
        plain_key, normalize_key = normalizer(self._key_codec, descriptor.name)
        self._untyped_keys = normalize_key is None
        self._exact = _EXACT if self._untyped_keys else frozenset({plain_key} & _EXACT)

    @property
    def fingerprint(self) -> str:
        return f"{self._key_codec.fingerprint} -> {self._codec.fingerprint}"

    def accepts(self, fingerprint: str) -> bool:
        key, _, value = fingerprint.partition(" -> ")
        return self._key_codec.fingerprint == key and self._codec.is_compatible(value)

    def get(self, key: Any) -> Any:
        value = self._find(self._cursor.entry or self._cursor.resolve(), self._token(key))
        return None if value is ABSENT else value

    def contains(self, key: Any) -> bool:
        return self._find(self._cursor.entry or self._cursor.resolve(), self._token(key)) is not ABSENT

    def put(self, key: Any, value: Any) -> None:
        entry = self._cursor.entry or self._cursor.resolve()
        if type(value) is not self._plain and self._normalize is not None and value is not None:
            value = self._normalize(value)
        slot = self._slot(entry)
        token = self._token(key)
        if slot.ordered and slot.live.get(token, ABSENT) is ABSENT:
            slot.live.pop(token, None)
            slot.ordered = False
        slot.live[token] = value if self._ttl is None else (value, self._ttl.now)
        slot.dirty[token] = None
        self.dirty[entry] = None

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._remove(self._cursor.entry or self._cursor.resolve(), self._token(key))

    def items(self) -> list[tuple[Any, Any]]:
        return self.read(self._cursor.entry or self._cursor.resolve())

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        return not self.has_value(self._cursor.entry or self._cursor.resolve())

    def clear_entry(self, entry: Entry) -> None:
        slot = self._slot(entry)
        slot.live, slot.dirty = {}, {}
        slot.cleared = slot.complete = slot.ordered = True
        self.dirty[entry] = None

    def has_value(self, entry: Entry) -> bool:
        slot = self._slot(entry)
        if self._ttl is None:
            if any(value is not ABSENT for value in slot.live.values()):
                return True
            if slot.complete:
                return False
            known = slot.live
            return any(self._stored_token(k, raw) not in known for k, raw in self._scan(entry))
        return bool(self.read(entry))

    def read(self, entry: Entry) -> list[tuple[Any, Any]]:
        """The entries that may be seen, in order."""
        slot = self._complete(entry)
        ttl = self._ttl
        present = [(token, value) for token, value in slot.live.items() if value is not ABSENT]
        if ttl is None:
            return [(t.key if type(t) is _Encoded else t, v) for t, v in present]
        seen = []
        for token, (value, timestamp) in present:
            expired = ttl.expired(timestamp)
            if expired:
                self._remove(entry, token)
            elif ttl.on_read and timestamp != ttl.now:
                self._touch(entry, slot, token, value)
            if not expired or ttl.return_expired:
                seen.append((token.key if type(token) is _Encoded else token, value))
        return seen

    def _is_empty_slot(self, slot: _Slot) -> bool:
        return slot.complete and all(value is ABSENT for value in slot.live.values())

    def write_entry(self, entry: Entry, changes: dict[bytes, bytes | None]) -> None:
        slot: _Slot = entry.slots[self._index]
        if slot.cleared:
            changes.update((key, None) for key, _ in self._scan(entry))
        for token in slot.dirty:
            data = self._token_bytes(token)
            key, value = entry.prefix + component(data), slot.live[token]
            changes[key] = None if value is ABSENT else self._encode(entry, data, value)
            if value is ABSENT:  # a map whose entries come and go must not remember them all
                del slot.live[token]
        slot.dirty, slot.cleared = {}, False
        if len(slot.live) > LARGE_SLOT:
            entry.slots[self._index] = UNLOADED

    # --- one map entry ----------------------------------------------------------------------------------

    def _token(self, key: Any) -> Any:
        if type(key) in self._exact or (type(key) is tuple and self._is_exact_tuple(key)):
            return key
        data = self._key_codec.encode_key(key)
        return self._token_of(data)

    def _is_exact_tuple(self, key: tuple[Any, ...]) -> bool:
        return self._untyped_keys and _EXACT.issuperset(map(type, key))

    def _token_bytes(self, token: Any) -> bytes:
        return token.data if type(token) is _Encoded else self._key_codec.encode_key(token)

    def _find(self, entry: Entry, token: Any) -> Any:
        slot = self._slot(entry)
        value = slot.live.get(token, UNLOADED)
        if value is UNLOADED:
            value = ABSENT if slot.complete else self._load(entry, slot, token)
        if self._ttl is None or value is ABSENT:
            return value
        value, timestamp = value
        if self._ttl.expired(timestamp):
            self._remove(entry, token)
            return value if self._ttl.return_expired else ABSENT
        if self._ttl.on_read and timestamp != self._ttl.now:
            self._touch(entry, slot, token, value)
        return value

    def _load(self, entry: Entry, slot: _Slot, token: Any) -> Any:
        raw = self._store.get(self.table, entry.prefix + component(self._token_bytes(token)))
        value = ABSENT if raw is None else self._decode(raw)
        slot.live[token] = value
        slot.ordered = False
        return value

    def _touch(self, entry: Entry, slot: _Slot, token: Any, value: Any) -> None:
        assert self._ttl is not None
        slot.live[token] = (value, self._ttl.now)
        slot.dirty[token] = None
        self.dirty[entry] = None

    def _remove(self, entry: Entry, token: Any) -> None:
        slot = self._slot(entry)
        slot.live[token] = ABSENT
        slot.dirty[token] = None
        self.dirty[entry] = None

    # --- the whole map ----------------------------------------------------------------------------------

    def _slot(self, entry: Entry) -> _Slot:
        slot = entry.slots[self._index]
        if slot is UNLOADED:
            slot = entry.slots[self._index] = _Slot()
        return slot  # type: ignore[no-any-return]

    def _scan(self, entry: Entry) -> list[tuple[bytes, bytes]]:
        return list(self._store.scan(self.table, entry.prefix))

    def _complete(self, entry: Entry) -> _Slot:
        """Loads what is missing and puts `live` in order."""
        slot = self._slot(entry)
        if not slot.complete:
            live = slot.live
            for key, raw in self._scan(entry):
                token = self._stored_token(key, raw)
                if token not in live:
                    live[token] = self._decode(raw)
                    slot.ordered = False
            slot.complete = True
        if not slot.ordered:
            order = sorted(slot.live, key=lambda token: component(self._token_bytes(token)))
            slot.live = {token: slot.live[token] for token in order}
            slot.ordered = True
        return slot

    def _stored_token(self, store_key: bytes, raw: bytes) -> Any:
        return self._token_of(self.map_key_bytes(store_key, raw))

    def _token_of(self, data: bytes) -> Any:
        key = self._key_codec.decode(data)
        if type(key) in self._exact or (type(key) is tuple and self._is_exact_tuple(key)):
            return key
        return _Encoded(data, key)

    @staticmethod
    def map_key_bytes(store_key: bytes, raw: bytes) -> bytes:
        """The encoded map key of a record."""
        _, at = split_component(store_key, 2)
        _, at = split_component(store_key, at)
        data, _ = split_component(store_key, at)
        if data is None:
            full = unpack_value(raw)[0]
            assert full is not None and full[2] is not None
            return full[2]
        return data

    def _encode(self, entry: Entry, map_key: bytes, value: Any) -> bytes:
        full: Full | None = entry.full
        if is_long(map_key):
            full = (full[0] if full else None, full[1] if full else None, map_key)
        if self._ttl is None:
            return pack_value(b"" if value is None else self._codec.encode(value), full)
        payload = b"" if value[0] is None else self._codec.encode(value[0])
        return pack_value(payload, full, value[1])

    def _decode(self, raw: bytes) -> Any:
        """The value, with its last access if the state has a time to live. No payload means None."""
        if self._ttl is None:
            payload = payload_of(raw)
            return self._codec.decode(payload) if payload else None
        _, timestamp, payload = unpack_value(raw)
        value = self._codec.decode(payload) if payload else None
        return value, self._ttl.now if timestamp is None else timestamp
