"""Panes of sliding windows: per key a short row of accumulators, one for each stretch of time.

A key has as many panes as fit into a window, and they come and go all the time. A state record for each of them
would be written and removed one by one, and read one by one by a process that has not seen the key before. So the
panes of `CHUNK` neighbouring stretches are one record, and the record is a plain map of panes:

    key group · key · chunk number   ->   {start of pane: accumulator, …}

In a savepoint it is map state. A chunk is written when one of its panes has changed and removed when the last of
them is over; until then it may hold panes that no window needs any more, and whoever loads it says from when on
panes count. (All panes of a key in one record would be fewer records still, but an epoch shorter than a pane
would write all of them for each new element: 60 times what changed, for a minute that slides by a second.)

Besides the panes, `KeyPanes` has room for what the operator has merged of them. That is never written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.descriptors import MapStateDescriptor
from penstock.state.encoding import PLAIN, component, pack_value, payload_of
from penstock.state.map_state import KeyedMapState
from penstock.state.overlay import UNLOADED, Cursor, Entry
from penstock.state.slots import Clock, SlotState, codec_for
from penstock.state.store import Store

CHUNK = 16
_NEVER = 2**63


class PanesStateDescriptor(MapStateDescriptor):
    """Declares panes of `pane_ms` milliseconds that begin at `offset_ms` and its multiples."""

    def __init__(
        self, name: str, accumulator_type: TypeInformation | None, pane_ms: int, offset_ms: int
    ) -> None:
        chunk = Types.PICKLED_BYTE_ARRAY()
        if accumulator_type is not None:
            chunk = Types.MAP(Types.LONG(), accumulator_type)
        super().__init__(name, Types.LONG(), chunk)
        self.pane_ms = pane_ms
        self.offset_ms = offset_ms


class KeyPanes:
    """The panes of one key, and what is known about them.

    `panes` is start -> accumulator. `open` is the pane that has been marked as changed in this epoch, None if
    there is none. `changed` are the chunks to write, `stored` those that have a record. `timer` is when the key is
    looked at next. The rest belongs to the operator, which merges panes (see operators/window_panes.py).
    """

    __slots__ = (
        "changed", "drop_at", "last_end", "newer", "open", "panes", "starts", "stored", "suffixes", "timer",
    )  # fmt: skip

    def __init__(self, panes: dict[int, Any], stored: set[int], drop_at: int) -> None:
        self.panes = panes
        self.stored = stored
        self.drop_at = drop_at
        self.changed: set[int] = set()
        self.open: int | None = None
        self.timer: int = _NEVER
        self.forget_merges()

    def forget_merges(self) -> None:
        self.starts: list[int] = []
        self.suffixes: list[Any] = []
        self.newer: Any = None
        self.last_end = MIN_TIMESTAMP


class PanesState(SlotState):
    """The panes of all keys of a subtask. The slot of an entry is its `KeyPanes`."""

    descriptor: PanesStateDescriptor

    def __init__(
        self, descriptor: PanesStateDescriptor, cursor: Cursor, index: int, store: Store, clock: Clock
    ) -> None:
        super().__init__(descriptor, cursor, index, store, clock)
        self._key_codec = codec_for(descriptor.key_type_info)
        self._codec = codec_for(descriptor.value_type_info)
        self._pane_ms = descriptor.pane_ms
        self._offset_ms = descriptor.offset_ms
        self._span_ms = CHUNK * descriptor.pane_ms
        self._chunk_keys: dict[int, bytes] = {}

    @property
    def fingerprint(self) -> str:
        return f"{self._key_codec.fingerprint} -> {self._codec.fingerprint}"

    def accepts(self, fingerprint: str) -> bool:
        key, _, value = fingerprint.partition(" -> ")
        return self._key_codec.fingerprint == key and self._codec.is_compatible(value)

    def load(self, entry: Entry, since: int) -> KeyPanes:
        """The panes of an entry whose slot is not loaded; those that begin before `since` are over."""
        panes: dict[int, Any] = {}
        stored: set[int] = set()
        for key, raw in self._store.scan(self.table, entry.prefix):
            stored.add(self._key_codec.decode(KeyedMapState.map_key_bytes(key, raw)))
            panes.update(self._codec.decode(payload_of(raw)))
        if panes and min(panes) < since:
            panes = {start: accumulator for start, accumulator in panes.items() if start >= since}
        known = entry.slots[self._index] = KeyPanes(panes, stored, self._end_of_first(stored))
        return known

    def chunk_of(self, start: int) -> int:
        """The chunk that holds the pane that begins at `start`."""
        return start // self._span_ms

    def drop_before(self, entry: Entry, known: KeyPanes, start: int) -> None:
        """No pane before `start` is left: the chunks that end there can go."""
        over = {chunk for chunk in known.stored if (chunk + 1) * self._span_ms <= start or not known.panes}
        known.changed |= over
        known.drop_at = self._end_of_first(known.stored - over)
        self.dirty[entry] = None

    def clear_entry(self, entry: Entry) -> None:
        known = entry.slots[self._index]
        if known is UNLOADED:
            known = self.load(entry, MIN_TIMESTAMP)
        known.panes.clear()
        known.forget_merges()
        known.open, known.timer = None, _NEVER
        self.drop_before(entry, known, MIN_TIMESTAMP)

    def has_value(self, entry: Entry) -> bool:
        known = entry.slots[self._index]
        return bool((self.load(entry, MIN_TIMESTAMP) if known is UNLOADED else known).panes)

    def write_entry(self, entry: Entry, changes: dict[bytes, bytes | None]) -> None:
        known: KeyPanes = entry.slots[self._index]
        for chunk in known.changed:
            accumulators = self._in_chunk(known.panes, chunk)
            key = entry.prefix + (self._chunk_keys.get(chunk) or self._chunk_key(chunk))
            if accumulators:
                data = self._codec.encode(accumulators)
                changes[key] = PLAIN + data if entry.full is None else pack_value(data, entry.full)
                known.stored.add(chunk)
            elif chunk in known.stored:
                changes[key] = None
                known.stored.remove(chunk)
        known.changed.clear()
        known.open = None
        known.drop_at = self._end_of_first(known.stored)

    def _in_chunk(self, panes: dict[int, Any], chunk: int) -> dict[int, Any]:
        base = chunk * self._span_ms
        first = base + (self._offset_ms - base) % self._pane_ms
        starts: Callable[[int], bool] = panes.__contains__
        return {
            start: panes[start] for start in filter(starts, range(first, base + self._span_ms, self._pane_ms))
        }

    def _end_of_first(self, chunks: set[int]) -> int:
        return (min(chunks) + 1) * self._span_ms if chunks else _NEVER

    def _chunk_key(self, chunk: int) -> bytes:
        if len(self._chunk_keys) >= 1000:
            self._chunk_keys.clear()
        data = self._chunk_keys[chunk] = component(self._key_codec.encode_key(chunk))
        return data
