"""Runs a `KeyedStateReaderFunction` over a share of an operator's state, in a Spark task."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle

from penstock.checkpoint.contents import KeyedShare
from penstock.checkpoint.handles import KeyedStateHandle
from penstock.checkpoint.metadata import OperatorCheckpoint
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.ids import EpochId
from penstock.operators.runtime_context import StreamingRuntimeContext
from penstock.state.backend import KeyedStateRestore
from penstock.state.files import META_TABLE, Wanted, encode_tables
from penstock.state.keyed import StoredKeyedBackend
from penstock.state.records import TIMERS, RecordReader
from penstock.state.schema import KEY_RECORD, StateSchema, declared_type
from penstock.state.slots import table_name
from penstock.state_processor.functions import KeyedStateReaderFunction
from penstock.state_processor.operator_run import Place, context_for, open_backend, scratch_storage

Schemas = dict[bytes, StateSchema]


def read_keys(
    function: KeyedStateReaderFunction,
    share: KeyedShare,
    checkpoint: OperatorCheckpoint,
    schemas: Schemas,
    whole: bool,
) -> Iterator[list[Any]]:
    """What the function yields for the keys of a share; `whole`: each result is the one cell of its row."""
    function = pickle.loads(cloudpickle.dumps(function))
    groups = (max(0, share.first_key_group), min(share.last_key_group, checkpoint.max_parallelism - 1))
    place = Place(checkpoint.uid, 0, 1, checkpoint.max_parallelism)
    with scratch_storage() as (storage, folder):
        key_type = declared_type(schemas[KEY_RECORD]) if KEY_RECORD in schemas else None
        backend = open_backend(place, key_type, storage, folder, groups)
        handle = _as_snapshot(share, schemas, groups, storage)
        backend.begin_epoch(KeyedStateRestore(EpochId(1), *groups, (handle,)), 0)
        context = StreamingRuntimeContext(context_for(place, backend))
        function.open(context)
        try:
            ctx = _Context(share, schemas)
            for key_bytes in _keys(share, schemas, sorted(context.keyed_states)):
                yield from _of_key(function, backend, ctx, key_bytes, whole)
        finally:
            function.close()
            backend.close()


def _of_key(
    function: KeyedStateReaderFunction,
    backend: StoredKeyedBackend,
    ctx: _Context,
    key_bytes: bytes,
    whole: bool,
) -> Iterator[list[Any]]:
    entry = backend.find_stored(key_bytes)
    backend.set_current_entry(entry)
    ctx.key_bytes = key_bytes
    for result in function.read_key(entry.key, ctx) or ():
        yield [result] if whole else list(result)


def _keys(share: KeyedShare, schemas: Schemas, states: list[str]) -> list[bytes]:
    """The keys that have a value in one of the states, each once, in the order of the store."""
    reader = RecordReader(schemas)
    found: dict[bytes, int] = {}
    for record in share.records(Wanted(frozenset(map(table_name, states)))):
        parts = reader.parts(*record)
        if not parts.namespace:
            found[parts.key] = parts.group
    return sorted(found, key=lambda key: (found[key], key))


def _as_snapshot(
    share: KeyedShare, schemas: Schemas, groups: tuple[int, int], storage: CheckpointStorage
) -> KeyedStateHandle:
    meta = sorted((key, schema.encode()) for key, schema in schemas.items())
    tables = itertools.groupby(share.records(), lambda record: record[0])
    records = ((name, ((key, raw) for _, key, raw in of_table)) for name, of_table in tables)
    data = encode_tables("snapshot", EpochId(1), itertools.chain([(META_TABLE, meta)], records))
    ref = storage.write_file("shared/share.snapshot", data)
    return KeyedStateHandle(EpochId(1), *groups, ref, ())


class _Context(KeyedStateReaderFunction.Context):
    """Timers are read when the function first asks for them."""

    def __init__(self, share: KeyedShare, schemas: Schemas) -> None:
        self.key_bytes = b""
        self._share = share
        self._schemas = schemas
        self._timers: dict[tuple[str, bytes], set[int]] | None = None

    def registered_event_time_timers(self) -> set[int]:
        return self._of("event")

    def registered_processing_time_timers(self) -> set[int]:
        return self._of("processing")

    def _of(self, domain: str) -> set[int]:
        if self._timers is None:
            self._timers = {}
            reader = RecordReader(self._schemas)
            for record in self._share.records(Wanted(frozenset({TIMERS + "event", TIMERS + "processing"}))):
                parts = reader.parts(*record)
                assert parts.position is not None
                self._timers.setdefault((parts.state, parts.key), set()).add(parts.position)
        return self._timers.get((domain, self.key_bytes), set())
