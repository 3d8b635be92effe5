"""The keyed backend: overlay, state objects and timers over a store of committed state.

Both backends are this class; they differ in the store alone. An epoch goes:

    begin_epoch   the store advances to the committed chain of files; decoded objects are kept only if that
                  chain proves that this object's own last epoch is the one that was committed
    end_epoch     dirty slots are encoded, once, and written as one delta file
    abort_epoch   the overlay is dropped; the store never saw anything of it
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from penstock.checkpoint.handles import FileRef
from penstock.common.codecs import Codec
from penstock.common.errors import InvariantError
from penstock.common.ids import EpochId
from penstock.common.points import Point, reach
from penstock.state.arranged import Arrangement, ArrangementStore
from penstock.state.arranged.store import Blocks
from penstock.state.backend import VOID_NAMESPACE, KeyedStateBackend, KeyedStateRestore
from penstock.state.chain import Step, digests_of, extend, steps_of
from penstock.state.cleanup import clean_incrementally, expiry_of, without_expired
from penstock.state.descriptors import StateDescriptor
from penstock.state.encoding import encode_namespace, split_component, unpack_value
from penstock.state.files import ARRANGED, META_TABLE, Changes, StateFiles, encode_changes, encode_tables
from penstock.state.list_state import KeyedListState
from penstock.state.map_state import KeyedMapState
from penstock.state.migration import MigratedStore, rewriting
from penstock.state.overlay import Entry, Overlay
from penstock.state.panes import PanesState, PanesStateDescriptor
from penstock.state.schema import (
    ARRANGEMENT,
    KEY_RECORD,
    StateSchema,
    check_key,
    check_kind,
    check_same,
    key_schema,
    schema_of,
)
from penstock.state.slots import Clock, SlotState, table_name
from penstock.state.store import Store, Target
from penstock.state.timers import StoredTimerQueue
from penstock.state.value_state import (
    KeyedAggregatingState,
    KeyedReducingState,
    KeyedTtlValueState,
    KeyedValueState,
)

_STATE_CLASSES: dict[str, type[Any]] = {
    "value": KeyedValueState,
    "list": KeyedListState,
    "map": KeyedMapState,
    "reducing": KeyedReducingState,
    "aggregating": KeyedAggregatingState,
}

DEFAULT_CACHED_ENTRIES = 200_000
_KEPT_CHANGES = 500_000
"""A delta with more records is read back from its file rather than kept in memory."""


class StoredKeyedBackend(KeyedStateBackend):
    """Keyed state and timers of one operator subtask, over a `Store`."""

    event_timers: StoredTimerQueue
    processing_timers: StoredTimerQueue

    def __init__(
        self,
        store: Store,
        files: StateFiles,
        *,
        key_codec: Codec,
        max_parallelism: int,
        first_key_group: int,
        last_key_group: int,
        file_prefix: str,
        cached_entries: int = DEFAULT_CACHED_ENTRIES,
        arranged_folder: str | None = None,
    ) -> None:
        self.current_key: Any = None
        self._store = store
        self._files = files
        self._key_codec = key_codec
        self._range = (first_key_group, last_key_group)
        self._file_prefix = file_prefix.rstrip("/")
        self._cached_entries = cached_entries
        self._clock = Clock()
        self._overlay = Overlay(key_codec.encode_key, max_parallelism, first_key_group, last_key_group)
        self._plain = self._overlay.plain
        self._spaced = self._overlay.spaced
        self._entries = self._overlay.entries
        self._states: dict[str, SlotState] = {}
        self._schemas: dict[str, StateSchema] = {}
        self._migrating: dict[str, MigratedStore] = {}
        groups = range(first_key_group, last_key_group + 1)
        self.event_timers = StoredTimerQueue("t/event", self._overlay, store, groups, key_codec.decode)
        self.processing_timers = StoredTimerQueue(
            "t/processing", self._overlay, store, groups, key_codec.decode
        )
        self._arrangements = ArrangementStore(files, arranged_folder)
        self._running = False
        self.running_epoch = EpochId(0)
        """The epoch that is running, or the last one that was."""
        self._digest: str | None = None
        self._aliases: dict[str, str] = {}
        self._last: _LastEpoch | None = None

    # --- per record -------------------------------------------------------------------------------------

    def set_current_key(self, key: Any) -> None:
        try:
            entry = self._entries[key]
        except (KeyError, TypeError):
            entry = self._overlay.find(key)
        else:
            if entry.key_type is not type(key) or (
                entry.shape is not None and entry.shape != tuple(map(type, key))
            ):
                entry = self._overlay.find(key)
        self.current_key = key
        self._plain.entry = entry
        self._spaced.entry = None

    def set_current_entry(self, entry: Entry) -> None:
        """The same for a key whose entry is at hand."""
        self.current_key = entry.key
        self._plain.entry = entry
        self._spaced.entry = None

    def set_current_namespace(self, namespace: Any) -> None:
        self._overlay.namespace = namespace
        self._spaced.entry = None

    def find_entry(self, key: Any) -> Entry:
        """The entry of a key that `live_entries` does not have, or has under an equal but other key."""
        return self._overlay.find(key)

    def find_stored(self, key_bytes: bytes) -> Entry:
        """The entry of a key that is known by its bytes."""
        return self._overlay.find_encoded(key_bytes, self._key_codec.decode)

    @property
    def live_entries(self) -> dict[Any, Entry]:
        """Entries by key, for hot loops; a hit counts only if the key's type is the entry's `key_type`.

        Does not outlive the epoch.
        """
        return self._entries

    # --- state objects ----------------------------------------------------------------------------------

    def get_partitioned_state(self, descriptor: StateDescriptor, *, namespaced: bool = False) -> Any:
        known = self._states.get(descriptor.name)
        if known is not None:
            check_same(known.descriptor, descriptor)
            return known
        cls = _STATE_CLASSES[descriptor.kind]
        if isinstance(descriptor, PanesStateDescriptor):
            cls = PanesState
        elif cls is KeyedValueState and descriptor.ttl_config is not None:
            cls = KeyedTtlValueState
        cursor = self._spaced if namespaced else self._plain
        state: SlotState = cls(descriptor, cursor, self._overlay.add_slot(), self._store, self._clock)
        if self._running:
            self._check_restored(state)
        self._states[descriptor.name] = state
        self._schemas[descriptor.name] = schema_of(state, namespaced)
        return state

    def get_arrangement(
        self, name: str, *, weighted: bool, columns: Sequence[str] | None = None
    ) -> Arrangement:
        self._schemas[name] = StateSchema(
            name, ARRANGEMENT, "weighted" if weighted else "growing", columns=tuple(columns or ())
        )
        if self._running:
            self._check_arrangement(name)
        return self._arrangements.get(name, weighted)

    def has_restored(self, name: str) -> bool:
        return self._running and self._store.get(META_TABLE, name.encode()) is not None

    def merge_namespaces(self, descriptor: StateDescriptor, target: Any, sources: Iterable[Any]) -> None:
        state: SlotState = self.get_partitioned_state(descriptor, namespaced=True)
        key = self._overlay.current()
        into = self._overlay.in_namespace(key, target)
        entries = [self._overlay.in_namespace(key, source) for source in sources]
        state.merge_entries(into, [entry for entry in entries if entry is not into])

    def keys(self, descriptor: StateDescriptor, namespace: Any = VOID_NAMESPACE) -> Iterator[Any]:
        """In the order of key group and encoded key, so that it does not depend on epochs."""
        state: SlotState = self.get_partitioned_state(descriptor)
        wanted = encode_namespace(namespace)
        found: dict[bytes, Any] = {}
        for key_bytes in self._stored_keys(state.table, wanted):
            entry = self._overlay.find_encoded(key_bytes, self._key_codec.decode)
            found[entry.head] = entry
        for entry in state.dirty:
            if entry.ns_bytes == wanted:
                found[entry.head] = self._overlay.find_encoded(entry.key_bytes, self._key_codec.decode)
        for head in sorted(found):
            entry = self._overlay.in_namespace(found[head], namespace)
            if state.has_value(entry):
                yield entry.key

    def _stored_keys(self, table: str, namespace: bytes) -> list[bytes]:
        keys: dict[bytes, None] = {}
        for store_key, raw in self._store.scan(table, b""):
            key, ns = record_parts(store_key, raw)
            if ns == namespace:
                keys[key] = None
        return list(keys)

    # --- epochs -----------------------------------------------------------------------------------------

    def begin_epoch(self, restore: KeyedStateRestore, processing_time_ms: int) -> FileRef | None:
        if self._running:
            self.abort_epoch()
        if (restore.first_key_group, restore.last_key_group) != self._range:
            raise InvariantError(
                f"a backend for key groups {self._range} cannot restore "
                f"{restore.first_key_group}..{restore.last_key_group}"
            )
        steps = steps_of(restore)
        last, self._last = self._last, None
        ours = last is not None and last.was_committed(restore.epoch, steps)
        if not ours:
            self._forget()
        own = last.changes if ours and last is not None else None
        self._end_migration()
        self._store.advance(Target(restore.epoch, steps, self._files, own), self._aliases)
        self._arrangements.begin_epoch(steps, self._aliases)
        self._clock.now = processing_time_ms
        self._digest = digests_of(steps)[-1]
        self._running = True
        self.running_epoch = EpochId(restore.epoch + 1)
        if not ours:
            self._check_all_restored()
        self._aliases.clear()
        if restore.take_snapshot or needs_snapshot(restore):
            return self._take_snapshot(restore.epoch)
        return None

    def end_epoch(self, epoch: EpochId) -> FileRef | None:
        if not self._running:
            raise InvariantError(f"end of epoch {epoch} without its beginning")
        try:
            ref = self._write_changes(epoch)
        except BaseException:
            self.abort_epoch()
            raise
        self._running = False
        self._store.release()
        return ref

    def expiries(self) -> dict[str, int]:
        limits = {state.table: expiry_of(state) for state in self._states.values()}
        return {table: limit_ms for table, limit_ms in limits.items() if limit_ms is not None}

    def abort_epoch(self) -> None:
        self._running = False
        self._last = None
        self._forget()
        self._arrangements.forget_changes()
        self._store.release()

    def close(self) -> None:
        self._forget()
        self._last = None
        self._running = False
        self._arrangements.close()
        self._store.close()

    def _write_changes(self, epoch: EpochId) -> FileRef | None:
        for state in self._states.values():
            clean_incrementally(state, self._store)
        touched = {entry for state in self._states.values() for entry in state.dirty}
        arranged = self._arrangements.changes()
        changes = self._collect(arranged)
        ref = None
        if changes or arranged:
            data = encode_changes("delta", epoch, changes, arranged)
            reach(Point.DELTA_NEXT)
            ref = self._files.write_file(self._file_name(epoch, "delta"), data)
            reach(Point.DELTA_WRITTEN)
        self._remember(epoch, ref, changes)
        self._drop_empty_namespaces(touched)
        if len(self._overlay) > self._cached_entries:
            self._overlay.keep_only(touched if len(touched) <= self._cached_entries // 2 else set())
            self._entries = self._overlay.entries
        return ref

    def _drop_empty_namespaces(self, touched: set[Entry]) -> None:
        """Windows come and go: without this a key would remember all it has ever had."""
        states = list(self._states.values())
        for entry in touched:
            if entry.ns_bytes and all(state.is_blank(entry) for state in states):
                self._overlay.drop_namespace(entry)

    def _collect(self, arranged: Blocks) -> Changes:
        changes: Changes = {}
        for name, state in self._states.items():
            former = self._migrating.get(name)
            migrated = dict(former.scan(state.table, b"")) if former is not None else {}
            records = {**migrated, **state.collect()}
            if records:
                changes[state.table] = records
        for queue in (self.event_timers, self.processing_timers):
            records = queue.collect()
            if records:
                changes[queue.table] = records
        if changes or arranged:
            self._add_schemas(changes, arranged)
        return changes

    def _add_schemas(self, changes: Changes, arranged: Blocks) -> None:
        meta: dict[bytes, bytes | None] = {}
        if self._store.get(META_TABLE, KEY_RECORD) is None:
            meta[KEY_RECORD] = key_schema(self._key_codec).encode()
        for name, schema in self._schemas.items():
            if table_name(name) in changes or (schema.kind == ARRANGEMENT and ARRANGED + name in arranged):
                key, value = name.encode(), schema.encode()
                if self._store.get(META_TABLE, key) != value:
                    meta[key] = value
        if meta:
            changes[META_TABLE] = meta

    def _remember(self, epoch: EpochId, ref: FileRef | None, changes: Changes) -> None:
        assert self._digest is not None
        step = Step(ref, *self._range) if ref else None
        if step is not None:
            self._arrangements.written(step.id)
        small = sum(map(len, changes.values())) <= _KEPT_CHANGES
        own = (step.id, changes) if step and small else None
        after = extend(self._digest, step) if step else self._digest
        self._last = _LastEpoch(epoch, self._digest, after, dict(self._aliases), own)

    def _forget(self) -> None:
        self._overlay.clear()
        for state in self._states.values():
            state.dirty.clear()
            state.expired_records.clear()
        self.event_timers.reset()
        self.processing_timers.reset()

    def _take_snapshot(self, epoch: EpochId) -> FileRef:
        by_table = {state.table: state for state in self._states.values()}
        tables = (
            (table, without_expired(self._store.scan(table, b""), by_table.get(table)))
            for table in self._store.tables()
        )
        # Named for the epoch that is going to commit it, so that cleanup does not take it for a leftover.
        name = self._file_name(EpochId(epoch + 1), "snapshot")
        arranged = self._arrangements.snapshot() if self._has_arrangements() else {}
        reach(Point.SNAPSHOT_NEXT)
        ref = self._files.write_file(name, encode_tables("snapshot", epoch, tables, arranged))
        reach(Point.SNAPSHOT_WRITTEN)
        step_id = Step(ref, *self._range).id
        assert self._digest is not None
        self._aliases[step_id] = self._digest
        self._store.add_alias(step_id)
        if arranged:
            self._arrangements.add_alias(step_id)
        return ref

    def _has_arrangements(self) -> bool:
        """Also ones that no operator has asked for yet: a snapshot is taken before they are opened."""
        return any(
            StateSchema.decode(raw).kind == ARRANGEMENT for _, raw in self._store.scan(META_TABLE, b"")
        )

    def _file_name(self, epoch: EpochId, kind: str) -> str:
        # Every attempt writes a file of its own: a zombie cannot overwrite what was committed.
        return f"{self._file_prefix}/{epoch:08d}-{uuid.uuid4().hex[:12]}.{kind}"

    # --- compatibility ----------------------------------------------------------------------------------

    def _check_all_restored(self) -> None:
        raw = self._store.get(META_TABLE, KEY_RECORD)
        if raw is not None:
            check_key(self._key_codec, StateSchema.decode(raw))
        for state in self._states.values():
            self._check_restored(state)
        for schema in self._schemas.values():
            if schema.kind == ARRANGEMENT:
                self._check_arrangement(schema.name)

    def _end_migration(self) -> None:
        """What an epoch has migrated is committed, or it is found again: either way the store is read as it is."""
        for name in self._migrating:
            self._states[name].read_from(self._store)
        self._migrating.clear()

    def _check_arrangement(self, name: str) -> None:
        raw = self._store.get(META_TABLE, name.encode())
        if raw is not None:
            check_kind(self._schemas[name], StateSchema.decode(raw))

    def _check_restored(self, state: SlotState) -> None:
        raw = self._store.get(META_TABLE, state.descriptor.name.encode())
        if raw is None:
            return
        stored = StateSchema.decode(raw)
        check_kind(state.descriptor, stored)
        rewrite = rewriting(state, stored)
        if rewrite is not None:
            self._migrating[state.descriptor.name] = MigratedStore(self._store, rewrite)
            state.read_from(self._migrating[state.descriptor.name])


class _LastEpoch:
    """What this object's last epoch wrote, to recognize it when it comes back as committed."""

    def __init__(
        self,
        epoch: EpochId,
        before: str,
        after: str,
        aliases: dict[str, str],
        changes: tuple[str, Changes] | None,
    ) -> None:
        self.epoch = epoch
        self.before = before
        self.after = after
        self.aliases = aliases
        self.changes = changes

    def was_committed(self, epoch: EpochId, steps: tuple[Step, ...]) -> bool:
        if epoch != self.epoch:
            return False
        if digests_of(steps)[-1] == self.after:
            return True
        start = self.aliases.get(steps[0].id) if steps else None
        return start is not None and digests_of(steps[1:], start)[-1] == self.after


def needs_snapshot(restore: KeyedStateRestore) -> bool:
    """After a change of parallelism the state is slices of several handles: one file replaces them."""
    own_range = (restore.first_key_group, restore.last_key_group)
    if not restore.handles:
        return False
    handle = restore.handles[0]
    return len(restore.handles) > 1 or (handle.first_key_group, handle.last_key_group) != own_range


def record_parts(store_key: bytes, raw: bytes) -> tuple[bytes, bytes]:
    """Encoded key and namespace of a keyed state record."""
    key, at = split_component(store_key, 2)
    namespace, _ = split_component(store_key, at)
    if key is None or namespace is None:
        full = unpack_value(raw)[0]
        assert full is not None
        key = key if key is not None else full[0]
        namespace = namespace if namespace is not None else full[1]
    assert key is not None and namespace is not None
    return key, namespace
