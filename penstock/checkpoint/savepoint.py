"""Savepoints: a checkpoint that stands for itself, in open formats.

    <dir>/savepoint-<job>-<random>/_metadata                    as in a checkpoint: sources, operator state
                                  /savepoint.json               the same for people and tools, and all schemas
                                  /operators/<uid>/part-0.parquet    keyed state and timers, a row per record

Nothing in it refers to files elsewhere, so the job's checkpoints may be deleted and the folder may be moved.
Keyed state is Parquet: any tool reads it, and a folder written by Spark in the same columns can be restored.
On restore the rows become a snapshot file in the new job's checkpoint storage.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from xxhash import xxh3_64_hexdigest

from penstock.checkpoint.encoding import decode_metadata, encode_metadata
from penstock.checkpoint.filesystem import FileSystem, filesystem_for
from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.checkpoint.savepoint_rows import ROW_SCHEMA, RowMaker, SavepointRow, record_of
from penstock.checkpoint.storage import METADATA_FILE, SAVEPOINT_PROPERTY, CheckpointStorage
from penstock.common.errors import CheckpointError
from penstock.state.files import ARRANGED, META_TABLE, Changes, encode_changes, merged_records, read_arranged
from penstock.state.schema import ARRANGEMENT, KEY_RECORD, StateSchema

SAVEPOINT_FILE = "savepoint.json"
FORMAT = "penstock-savepoint"
VERSION = 1
_ROWS_PER_GROUP = 50_000

Schemas = dict[bytes, StateSchema]


def write_savepoint(directory: str, metadata: CheckpointMetadata, storage: CheckpointStorage) -> str:
    """Writes a savepoint of a committed checkpoint below `directory`; returns its path.

    The metadata is written last: a folder without it is not a savepoint.
    """
    name = f"savepoint-{re.sub('[^A-Za-z0-9]', '', metadata.job_id)[:6]}-{uuid.uuid4().hex[:12]}"
    files, root = filesystem_for(f"{directory.rstrip('/')}/{name}")
    schemas: dict[str, Schemas] = {}
    operators = {}
    for uid, operator in metadata.operators.items():
        schemas[uid] = _write_operator(files, root, operator, storage)
        operators[uid] = dataclasses.replace(
            operator, subtasks=tuple(_inline(sub, storage) for sub in operator.subtasks)
        )
    described = _describe(metadata, schemas)
    files.write(f"{root}/{SAVEPOINT_FILE}", json.dumps(described, indent=2, ensure_ascii=False).encode())
    properties = {**metadata.properties, SAVEPOINT_PROPERTY: True}
    alone = dataclasses.replace(metadata, operators=operators, properties=properties)
    files.write(f"{root}/{METADATA_FILE}", encode_metadata(alone))
    return root


def is_savepoint(path: str) -> bool:
    """Whether a path that a user gave is a savepoint (and not a checkpoint)."""
    files, root = filesystem_for(_folder(path))
    return SAVEPOINT_FILE in files.names(root)


def read_savepoint(path: str, storage: CheckpointStorage) -> CheckpointMetadata:
    """The savepoint as a checkpoint to start from; its keyed state becomes files in `storage`.

    Raises:
        CheckpointError: There is no savepoint, or a part of it cannot be read.
    """
    files, root = filesystem_for(_folder(path))
    described = _read_description(files, root)
    try:
        metadata = decode_metadata(files.read(f"{root}/{METADATA_FILE}"), root)
    except FileNotFoundError as error:
        raise CheckpointError("the savepoint is incomplete: it has no _metadata", where=root) from error
    operators = {}
    for uid, operator in metadata.operators.items():
        schemas = _decode_schemas(described["operators"].get(uid, {}).get("states", []))
        handles = _read_operator(files, root, uid, metadata, schemas, storage)
        operators[uid] = _with_handles(operator, handles)
    properties = {name: value for name, value in metadata.properties.items() if name != SAVEPOINT_PROPERTY}
    return dataclasses.replace(metadata, operators=operators, properties=properties)


def savepoint_rows(path: str, uid: str) -> pa.Table:
    """The keyed state of one operator as a table, to look at."""
    files, root = filesystem_for(_folder(path))
    folder = f"{root}/operators/{_safe(uid)}"
    tables = [_read_parquet(files, f"{folder}/{name}") for name in _parts(files, folder)]
    return pa.concat_tables(tables) if tables else ROW_SCHEMA.empty_table()


# --- writing ------------------------------------------------------------------------------------------------


def _write_operator(
    files: FileSystem, root: str, operator: OperatorCheckpoint, storage: CheckpointStorage
) -> Schemas:
    schemas: Schemas = {}
    for number, subtask in enumerate(operator.subtasks):
        if subtask.keyed is None or not subtask.keyed.files:
            continue
        chain = [(ref.path, storage.read_file(ref)) for ref in subtask.keyed.files]
        first, last = subtask.keyed.first_key_group, subtask.keyed.last_key_group
        own = {
            key: StateSchema.decode(value)
            for table, key, value in merged_records(chain, first, last)
            if table == META_TABLE
        }
        schemas.update(own)
        rows = _rows(RowMaker(operator.uid, own), chain, first, last)
        path = f"{root}/operators/{_safe(operator.uid)}/part-{number}.parquet"
        files.write(path, _parquet(rows))
    return schemas


def _rows(maker: RowMaker, chain: list[tuple[str, bytes]], first: int, last: int) -> Iterator[SavepointRow]:
    for table, key, value in merged_records(chain, first, last):
        if table != META_TABLE:
            yield maker.row(table, key, value)
    for path, data in chain:
        for table, key, stream in read_arranged(data, path):
            yield maker.arranged(table, key, bytes(stream))


def _parquet(rows: Iterator[SavepointRow]) -> bytes:
    out = io.BytesIO()
    with pq.ParquetWriter(out, ROW_SCHEMA, compression="zstd") as writer:
        batch: list[SavepointRow] = []
        for row in rows:
            batch.append(row)
            if len(batch) == _ROWS_PER_GROUP:
                writer.write_table(pa.Table.from_pylist(batch, ROW_SCHEMA))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, ROW_SCHEMA))
    return out.getvalue()


def _inline(subtask: OperatorSubtaskState, storage: CheckpointStorage) -> OperatorSubtaskState:
    def load(value: bytes | FileRef | None) -> bytes | None:
        return storage.read_file(value) if isinstance(value, FileRef) else value

    return dataclasses.replace(
        subtask,
        keyed=None,
        operator_state=load(subtask.operator_state),
        function_state=load(subtask.function_state),
        runtime_state=load(subtask.runtime_state),
    )


def _describe(metadata: CheckpointMetadata, schemas: dict[str, Schemas]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "job_id": metadata.job_id,
        "job_name": metadata.job_name,
        "epoch": metadata.epoch,
        "timestamp_ms": metadata.timestamp_ms,
        "operators": {
            uid: {
                "name": operator.name,
                "parallelism": operator.parallelism,
                "max_parallelism": operator.max_parallelism,
                "folder": f"operators/{_safe(uid)}",
                "states": [msgspec.to_builtins(schema) for schema in schemas[uid].values()],
            }
            for uid, operator in metadata.operators.items()
        },
        "sources": {uid: _describe_source(source) for uid, source in metadata.sources.items()},
    }


def _describe_source(source: SourceCheckpoint) -> dict[str, Any]:
    return {
        "enumerator": repr(source.enumerator),
        "splits": {
            split_id: {"split": repr(split), "position": repr(position), "finished": finished}
            for split_id, (split, position, finished, _) in source.splits.items()
        },
    }


# --- reading ------------------------------------------------------------------------------------------------


def _read_description(files: FileSystem, root: str) -> dict[str, Any]:
    try:
        described: dict[str, Any] = json.loads(files.read(f"{root}/{SAVEPOINT_FILE}"))
    except FileNotFoundError as error:
        raise CheckpointError(
            "no savepoint here", where=root, do="give the folder that contains savepoint.json"
        ) from error
    except ValueError as error:
        raise CheckpointError("savepoint.json is damaged", where=root) from error
    if described.get("format") != FORMAT or described.get("version", 0) > VERSION:
        raise CheckpointError(
            f"the savepoint has format {described.get('format')} {described.get('version')}", where=root
        )
    return described


def _decode_schemas(states: list[dict[str, Any]]) -> Schemas:
    found = [msgspec.convert(state, StateSchema) for state in states]
    return {KEY_RECORD if schema.kind == "key" else schema.name.encode(): schema for schema in found}


def _read_operator(
    files: FileSystem,
    root: str,
    uid: str,
    metadata: CheckpointMetadata,
    schemas: Schemas,
    storage: CheckpointStorage,
) -> list[KeyedStateHandle]:
    """A snapshot file in `storage` for each Parquet file of an operator."""
    handles = []
    folder = f"{root}/operators/{_safe(uid)}"
    for name in _parts(files, folder):
        changes: Changes = {META_TABLE: {key: schema.encode() for key, schema in schemas.items()}}
        groups: set[int] = set()
        arranged: dict[str, list[tuple[bytes, bytes]]] = {}
        for row in _read_parquet(files, f"{folder}/{name}").to_pylist():
            groups.add(row["key_group"])
            if row["kind"] == ARRANGEMENT:
                arranged.setdefault(ARRANGED + row["state"], []).append(
                    (row["key_bytes"], row["value_bytes"])
                )
                groups.add(row["position"])
                continue
            table, key, value = record_of(row)
            changes.setdefault(table, {})[key] = value
        if groups:
            data = encode_changes("snapshot", metadata.epoch, changes, arranged)
            digest = xxh3_64_hexdigest(data)
            target = f"shared/savepoint/{_safe(uid)}/{metadata.epoch:08d}-{digest[:12]}.snapshot"
            ref = storage.write_file(target, data)
            handles.append(KeyedStateHandle(metadata.epoch, min(groups), max(groups), ref, ()))
    return handles


def _parts(files: FileSystem, folder: str) -> list[str]:
    return [name for name in files.names(folder) if name.endswith(".parquet")]


def _read_parquet(files: FileSystem, path: str) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(files.read(path)), schema=ROW_SCHEMA)
    except pa.ArrowException as error:
        raise CheckpointError(f"a part of the savepoint is damaged: {error}", where=path) from error


def _with_handles(operator: OperatorCheckpoint, handles: list[KeyedStateHandle]) -> OperatorCheckpoint:
    """One handle per subtask as far as they go; more of them (Spark's files) become subtasks of their own.

    Handles are found by their key groups, so it does not matter which entry they are in; only the count of
    subtasks matters, because with another count than before operator state is dealt out anew.
    """
    subtasks = list(operator.subtasks)
    spread = [dataclasses.replace(sub, keyed=None) for sub in subtasks]
    for number, handle in enumerate(handles[: len(spread)]):
        spread[number] = dataclasses.replace(spread[number], keyed=handle)
    extra = [OperatorSubtaskState(keyed=handle) for handle in handles[len(spread) :]]
    return dataclasses.replace(operator, subtasks=(*spread, *extra))


def _folder(path: str) -> str:
    return re.sub(rf"/?({METADATA_FILE}|{SAVEPOINT_FILE})?/?$", "", path)


def _safe(uid: str) -> str:
    """A folder name for any uid: readable, and different for different uids."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", uid)[:60]
    return plain if plain == uid else f"{plain}-{xxh3_64_hexdigest(uid.encode())[:8]}"
