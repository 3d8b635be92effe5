"""List state: chunks of elements, so that adding to a long list neither reads nor rewrites it.

The store has a record per chunk (prefix · chunk number); an epoch that adds elements adds one chunk. When a
list that was read has many chunks, the epoch that next changes it writes it as one.

    store    [a b c] [d]                     two epochs
    slot     items: not loaded · tail: [e]   add(e) without reading
             items: [a b c d e] · tail: [e]  after get()
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from penstock.state.descriptors import ListState, ListStateDescriptor
from penstock.state.encoding import HAS_TIMESTAMP, chunk_number, pack_value, read_chunk_number, unpack_value
from penstock.state.overlay import UNLOADED, Cursor, Entry
from penstock.state.slots import LARGE_SLOT, Clock, SlotState, codec_for, normalizer
from penstock.state.store import Store

MANY_CHUNKS = 16
_U32 = struct.Struct(">I")


class _Slot:
    """The list of one entry.

    `items` is the whole list once it is known. `tail` is what the epoch added to the committed list, unless
    the list was `replaced`. `chunks` are the store keys of the committed chunks, once they are known.
    With a time to live, an element is a pair (value, last access).
    """

    __slots__ = ("chunks", "items", "replaced", "tail")

    def __init__(self) -> None:
        self.items: list[Any] | None = None
        self.tail: list[Any] = []
        self.chunks: list[bytes] | None = None
        self.replaced = False


class KeyedListState(SlotState, ListState[Any]):
    """`ListState`, with and without a time to live (which is each element's own, as in Flink)."""

    def __init__(
        self, descriptor: ListStateDescriptor, cursor: Cursor, index: int, store: Store, clock: Clock
    ) -> None:
        super().__init__(descriptor, cursor, index, store, clock)
        self._codec = codec_for(descriptor.elem_type_info)
        self._plain, self._normalize = normalizer(self._codec, descriptor.name)

    @property
    def fingerprint(self) -> str:
        return self._codec.fingerprint

    def accepts(self, fingerprint: str) -> bool:
        return self._codec.is_compatible(fingerprint)

    def get(self) -> list[Any]:
        return self.read(self._cursor.entry or self._cursor.resolve())

    def add(self, value: Any) -> None:
        entry = self._cursor.entry or self._cursor.resolve()
        if type(value) is not self._plain and self._normalize is not None:
            value = self._normalize(value)
        if self._ttl is not None:
            value = (value, self._ttl.now)
        slot = entry.slots[self._index]
        if slot is UNLOADED:
            slot = entry.slots[self._index] = _Slot()
        slot.tail.append(value)
        if slot.items is not None:
            slot.items.append(value)
        self.dirty[entry] = None

    def add_all(self, values: list[Any]) -> None:
        if values:
            self._append(self._cursor.entry or self._cursor.resolve(), self._normalized(values))

    def update(self, values: list[Any]) -> None:
        self._replace(self._cursor.entry or self._cursor.resolve(), self._wrap(self._normalized(values)))

    def clear_entry(self, entry: Entry) -> None:
        self._replace(entry, [])

    def has_value(self, entry: Entry) -> bool:
        items, ttl = self._items(entry), self._ttl
        if ttl is None or ttl.return_expired:
            return bool(items)
        return any(not ttl.expired(pair[1]) for pair in items)

    def _is_empty_slot(self, slot: _Slot) -> bool:
        return slot.items is not None and not slot.items

    def merge_entries(self, target: Entry, sources: Iterable[Entry]) -> None:
        for source in sources:
            items = self._items(source)
            if items:
                slot = self._slot(target)
                slot.tail.extend(items)
                if slot.items is not None:
                    slot.items.extend(items)
                self.dirty[target] = None
                self._replace(source, [])

    def read(self, entry: Entry) -> list[Any]:
        """The elements that may be seen, in a list of the caller's own."""
        items, ttl = self._items(entry), self._ttl
        if ttl is None:
            return items.copy()
        live = [pair for pair in items if not ttl.expired(pair[1])]
        if (not live and items) or (len(live) < len(items) and not ttl.return_expired):
            self._replace(entry, live)
        if ttl.on_read and any(pair[1] != ttl.now for pair in live):
            self._replace(entry, [(value, ttl.now) for value, _ in live])
        return [value for value, _ in (items if ttl.return_expired else live)]

    def write_entry(self, entry: Entry, changes: dict[bytes, bytes | None]) -> None:
        slot: _Slot = entry.slots[self._index]
        if slot.replaced or (slot.chunks is not None and len(slot.chunks) >= MANY_CHUNKS):
            chunks = self._chunk_keys(entry, slot)
            changes.update(dict.fromkeys(chunks))
            slot.chunks, number, fresh = [], 0, slot.items
            assert fresh is not None
        else:
            number, fresh = self._next_number(entry, slot), slot.tail
        if fresh:
            key = entry.prefix + chunk_number(number)
            changes[key] = self._encode(fresh, entry)
            if slot.chunks is not None:
                slot.chunks.append(key)
        slot.tail, slot.replaced = [], False
        if slot.items is not None and len(slot.items) > LARGE_SLOT:
            entry.slots[self._index] = UNLOADED

    def _next_number(self, entry: Entry, slot: _Slot) -> int:
        if slot.chunks is not None:
            return read_chunk_number(slot.chunks[-1]) + 1 if slot.chunks else 0
        last = self._store.last_key(self.table, entry.prefix)
        return 0 if last is None else read_chunk_number(last) + 1

    def _chunk_keys(self, entry: Entry, slot: _Slot) -> list[bytes]:
        if slot.chunks is not None:
            return slot.chunks
        return [key for key, _ in self._store.scan(self.table, entry.prefix)]

    def _append(self, entry: Entry, values: list[Any]) -> None:
        slot = self._slot(entry)
        items = self._wrap(values)
        slot.tail.extend(items)
        if slot.items is not None:
            slot.items.extend(items)
        self.dirty[entry] = None

    def _replace(self, entry: Entry, items: list[Any]) -> None:
        slot = self._slot(entry)
        slot.items, slot.tail, slot.replaced = items, [], True
        self.dirty[entry] = None

    def _slot(self, entry: Entry) -> _Slot:
        slot = entry.slots[self._index]
        if slot is UNLOADED:
            slot = entry.slots[self._index] = _Slot()
        return slot  # type: ignore[no-any-return]

    def _items(self, entry: Entry) -> list[Any]:
        slot = self._slot(entry)
        if slot.items is None:
            slot.items, slot.chunks = [], []
            for key, raw in self._store.scan(self.table, entry.prefix):
                slot.chunks.append(key)
                slot.items.extend(self.decode_chunk(raw))
            slot.items.extend(slot.tail)
        return slot.items

    def _normalized(self, values: Iterable[Any]) -> list[Any]:
        if self._normalize is None:
            return list(values)
        return [v if type(v) is self._plain else self._normalize(v) for v in values]

    def _wrap(self, values: list[Any]) -> list[Any]:
        if self._ttl is None:
            return values
        now = self._ttl.now
        return [(value, now) for value in values]

    def _encode(self, items: list[Any], entry: Entry) -> bytes:
        if self._ttl is None:
            return pack_value(self._codec.encode_batch(items), entry.full)
        times = struct.pack(f">I{len(items)}q", len(items), *(pair[1] for pair in items))
        payload = times + self._codec.encode_batch([pair[0] for pair in items])
        # The record's own time is the newest element's: with it, all of the chunk has expired.
        return pack_value(payload, entry.full, max(pair[1] for pair in items))

    def decode_chunk(self, raw: bytes) -> list[Any]:
        """The elements of a chunk, as pairs if the state has a time to live."""
        has_times = raw[0] & HAS_TIMESTAMP
        _, _, payload = unpack_value(raw)
        times: tuple[int, ...] | None = None
        if has_times:
            times, payload = split_times(payload)
        values = self._codec.decode_batch(payload)
        if self._ttl is None:
            return values
        if times is None:
            return self._wrap(values)
        return list(zip(values, times, strict=True))


def split_times(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """The last access of each element of a chunk with a time to live, and the elements."""
    count = _U32.unpack_from(payload)[0]
    return struct.unpack_from(f">{count}q", payload, 4), payload[4 + 8 * count :]
