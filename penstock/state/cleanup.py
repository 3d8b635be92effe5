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
    limit_ms = expiry_of(state) if state is not None else None
    if limit_ms is None:
        yield from records
        return
    for key, raw in records:
        if not expired_before(raw, limit_ms):
            yield key, raw


def expiry_of(state: SlotState) -> int | None:
    """Records last used then, or before, do not belong into a full snapshot; None if all of them do."""
    ttl = state.ttl
    if ttl is None or not ttl.config.get_cleanup_strategies().in_full_snapshot():
        return None
    return ttl.now - ttl.ms


def expired_before(raw: bytes | None, limit_ms: int) -> bool:
    """Whether a record was last used at that time or before."""
    if raw is None or not raw[0] & HAS_TIMESTAMP:
        return False
    timestamp = unpack_value(raw)[1]
    return timestamp is not None and timestamp <= limit_ms


def _expired(raw: bytes, ttl: Ttl) -> bool:
    return expired_before(raw, ttl.now - ttl.ms)


def _records_per_access(ttl: Ttl) -> int:
    strategies = ttl.config.get_cleanup_strategies()
    incremental = strategies.get_incremental_cleanup_strategy()
    if incremental is not None:
        return incremental.get_cleanup_size()
    return 5 if strategies.get_rocksdb_compact_filter_cleanup_strategy() is not None else 0
