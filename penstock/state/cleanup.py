"""Removing expired state that nobody reads.

Reading finds expired values by itself. Besides that, at the end of an epoch some more committed records are
looked at, in rounds over the table, and the expired ones removed: as many as the TTL settings say per entry
the epoch touched. A full snapshot leaves out what has expired, if asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.state.encoding import HAS_TIMESTAMP, unpack_value
from penstock.state.slots import SlotState, Ttl
from penstock.state.store import Store

_MOST_PER_EPOCH = 20_000


def clean_incrementally(state: SlotState, store: Store) -> None:
    """Marks expired committed records of a state for removal with this epoch's changes."""
    ttl = state.ttl
    if ttl is None or not state.dirty:
        return
    per_access = _records_per_access(ttl)
    if per_access == 0:
        return
    budget = min(per_access * len(state.dirty), _MOST_PER_EPOCH)
    last = None
    for key, raw in store.scan(state.table, b"", state.cleaned_up_to):
        if budget == 0:
            state.cleaned_up_to = last
            return
        budget -= 1
        last = key
        if _expired(raw, ttl):
            state.expired_records.append(key)
    state.cleaned_up_to = None


def without_expired(
    records: Iterable[tuple[bytes, bytes]], state: SlotState | None
) -> Iterator[tuple[bytes, bytes]]:
    """The records that belong into a full snapshot."""
    ttl = state.ttl if state is not None else None
    if ttl is None or not ttl.config.get_cleanup_strategies().in_full_snapshot():
        yield from records
        return
    for key, raw in records:
        if not _expired(raw, ttl):
            yield key, raw


def _expired(raw: bytes, ttl: Ttl) -> bool:
    if not raw[0] & HAS_TIMESTAMP:
        return False
    timestamp = unpack_value(raw)[1]
    return timestamp is not None and ttl.expired(timestamp)


def _records_per_access(ttl: Ttl) -> int:
    strategies = ttl.config.get_cleanup_strategies()
    incremental = strategies.get_incremental_cleanup_strategy()
    if incremental is not None:
        return incremental.get_cleanup_size()
    return 5 if strategies.get_rocksdb_compact_filter_cleanup_strategy() is not None else 0
