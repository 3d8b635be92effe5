"""Timers on the same store as state, in firing order.

    store    key group · time · key · namespace       committed timers: due ones are a prefix scan per group
    overlay  time -> entries, and a heap of times     timers registered in this epoch
             tombstones                               committed timers that fired or were deleted

Registering and deleting never read the store. `next_time` is the smaller of two numbers that are kept: the
top of the heap, and the earliest committed time over the key groups.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from penstock.state.backend import VOID_NAMESPACE, Timer, TimerQueue
from penstock.state.encoding import (
    component,
    decode_namespace,
    group_bytes,
    group_of,
    ordered_time,
    pack_value,
    read_time,
    split_component,
    unpack_value,
)
from penstock.state.overlay import Entry, Overlay
from penstock.state.store import Store

_prefix = attrgetter("prefix")
"""Orders entries as the store orders timers of one time: by key group, key and namespace."""


class StoredTimerQueue(TimerQueue):
    """Timers of one time domain. Ties fire by key group, then by the bytes of key and namespace."""

    def __init__(
        self,
        table: str,
        overlay: Overlay,
        store: Store,
        groups: range,
        decode_key: Callable[[bytes], Any],
    ) -> None:
        self.table = table
        self._overlay = overlay
        self._store = store
        self._groups = groups
        self._decode_key = decode_key
        self._added: dict[int, dict[Entry, None]] = {}
        self._times: list[int] = []
        self._tombstones: set[bytes] = set()
        self._committed: dict[int, int] | None = None
        self._committed_min: int | None = None
        self._stale: set[int] = set()

    def register(self, time_ms: int, namespace: Any = VOID_NAMESPACE) -> None:
        overlay = self._overlay
        if namespace is None:
            entry = overlay.plain.entry or overlay.current()
        elif namespace is overlay.namespace:
            entry = overlay.spaced.entry or overlay.spaced.resolve()
        else:
            entry = overlay.in_namespace(overlay.current(), namespace)
        bucket = self._added.get(time_ms)
        if bucket is None:
            bucket = self._added[time_ms] = {}
            heappush(self._times, time_ms)
        elif entry in bucket:
            return
        # A tombstone for the same timer may stay: what was added wins when the changes are collected.
        bucket[entry] = None

    def delete(self, time_ms: int, namespace: Any = VOID_NAMESPACE) -> None:
        entry = self._overlay.in_namespace(self._overlay.current(), namespace)
        bucket = self._added.get(time_ms)
        if bucket is not None and entry in bucket:
            del bucket[entry]
        self._tombstones.add(_store_key(time_ms, entry))
        if self._committed is not None and self._committed.get(entry.group) == time_ms:
            self._stale.add(entry.group)

    def next_time(self) -> int | None:
        times, added = self._times, self._added
        while times and not added.get(times[0]):
            added.pop(heappop(times), None)
        if self._committed is None or self._stale:
            self._refresh()
        if not times:
            return self._committed_min
        if self._committed_min is None or times[0] < self._committed_min:
            return times[0]
        return self._committed_min

    def pop_due(self, up_to_ms: int) -> list[Timer]:
        due = self.pop_entries(up_to_ms)
        return [Timer(time_ms, entry.key, entry.namespace) for time_ms, entries in due for entry in entries]

    def pop_entries(self, up_to_ms: int) -> list[tuple[int, list[Entry]]]:
        """What `pop_due` gives, as the overlay's entries by time."""
        earliest = self.next_time()
        if earliest is None or earliest > up_to_ms:
            return []
        if self._committed_min is not None and self._committed_min <= up_to_ms:
            self._take_committed(up_to_ms)
        due = []
        while self._times and self._times[0] <= up_to_ms:
            time_ms = heappop(self._times)
            bucket = self._added.pop(time_ms, None)
            if bucket:
                due.append((time_ms, sorted(bucket, key=_prefix)))
        return due

    def register_entries(self, time_ms: int, entries: list[Entry]) -> None:
        """Registers a timer for each of some entries."""
        bucket = self._added.get(time_ms)
        if bucket is None:
            bucket = self._added[time_ms] = {}
            heappush(self._times, time_ms)
        bucket.update(dict.fromkeys(entries))

    def collect(self) -> dict[bytes, bytes | None]:
        """The changes of the epoch; afterwards the overlay is empty."""
        get = self._store.get
        changes: dict[bytes, bytes | None] = {
            key: None for key in self._tombstones if get(self.table, key) is not None
        }
        for time_ms, bucket in self._added.items():
            for entry in bucket:
                changes[_store_key(time_ms, entry)] = pack_value(b"", entry.full)
        self.reset()
        return changes

    def reset(self) -> None:
        """Forgets the overlay and what is known of the store."""
        self._added.clear()
        self._times.clear()
        self._tombstones.clear()
        self._stale.clear()
        self._committed = None
        self._committed_min = None

    def _take_committed(self, up_to_ms: int) -> None:
        """Moves the committed timers that are due to the overlay, where the same ones may be already."""
        assert self._committed is not None
        for group, earliest in list(self._committed.items()):
            if earliest > up_to_ms:
                continue
            del self._committed[group]
            for key, raw in self._store.scan(self.table, group_bytes(group), self._from(group, earliest)):
                if key in self._tombstones:
                    continue
                time_ms = read_time(key, 2)
                if time_ms > up_to_ms:
                    self._committed[group] = time_ms
                    break
                self._tombstones.add(key)
                self.register_entries(time_ms, [self._entry(key, raw)])
        self._committed_min = min(self._committed.values(), default=None)

    def _refresh(self) -> None:
        """Finds the earliest committed time of each key group, or of those where it was deleted."""
        if self._committed is None:
            self._committed = self._first_times()
            # Deletions of this epoch may have taken what is first in a group.
            self._stale = set(self._committed) if self._tombstones else set()
        for group in self._stale:
            known = self._committed.pop(group, None)
            for key, _ in self._store.scan(self.table, group_bytes(group), self._from(group, known)):
                if key not in self._tombstones:
                    self._committed[group] = read_time(key, 2)
                    break
        self._stale.clear()
        self._committed_min = min(self._committed.values(), default=None)

    def _first_times(self) -> dict[int, int]:
        """The first time of each key group in the store: one seek per group that has timers."""
        first: dict[int, int] = {}
        group = self._groups.start
        while group < self._groups.stop:
            found = next(iter(self._store.scan(self.table, b"", group_bytes(group))), None)
            if found is None:
                break
            group = group_of(found[0])
            first[group] = read_time(found[0], 2)
            group += 1
        return first

    @staticmethod
    def _from(group: int, time_ms: int | None) -> bytes | None:
        return None if time_ms is None else group_bytes(group) + ordered_time(time_ms)

    def _entry(self, store_key: bytes, raw: bytes) -> Entry:
        key, namespace = timer_parts(store_key, raw)
        entry = self._overlay.find_encoded(key, self._decode_key)
        return self._overlay.in_namespace(entry, decode_namespace(namespace)) if namespace else entry


def _store_key(time_ms: int, entry: Entry) -> bytes:
    return (
        group_bytes(entry.group)
        + ordered_time(time_ms)
        + component(entry.key_bytes)
        + component(entry.ns_bytes)
    )


def timer_parts(store_key: bytes, raw: bytes) -> tuple[bytes, bytes]:
    """Encoded key and namespace of a timer record."""
    key, at = split_component(store_key, 10)
    namespace, _ = split_component(store_key, at)
    if key is None or namespace is None:
        full = unpack_value(raw)[0]
        assert full is not None
        key = key if key is not None else full[0]
        namespace = namespace if namespace is not None else full[1]
    assert key is not None and namespace is not None
    return key, namespace
