"""Savepoints: a checkpoint that stands for itself, in open formats.

    <dir>/savepoint-<job>-<random>/_metadata                    as in a checkpoint: sources, operator state
                                  /savepoint.json               the same for people and tools, and all schemas
                                  /operators/<uid>/part-0-0.parquet  keyed state and timers, a row per record

Nothing in it refers to files elsewhere, so the job's checkpoints may be deleted and the folder may be moved.
Keyed state is Parquet: any tool reads it, and a folder written by Spark in the same columns can be restored.
On restore the rows become snapshot files in the new job's checkpoint storage.

Keyed state never passes through the driver if `run` does not: each subtask's share is written, and each part is
read, by a call of its own.
"""

from __future__ import annotations

import dataclasses
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
from xxhash import xxh3_64_hexdigest

from penstock.checkpoint.encoding import decode_metadata, encode_metadata
from penstock.checkpoint.filesystem import FileSystem, filesystem_for
from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.checkpoint.savepoint_parts import Part, parts_of, read_table, rows_of, write_parts
from penstock.checkpoint.savepoint_rows import ROW_SCHEMA, RowMaker, SavepointRow, record_of
from penstock.checkpoint.storage import METADATA_FILE, SAVEPOINT_PROPERTY, CheckpointStorage, open_verified
from penstock.common.errors import CheckpointError
from penstock.common.ids import EpochId
from penstock.common.points import Point, reach
from penstock.state.files import (
    ARRANGED,
    META_TABLE,
    Changes,
    Wanted,
    encode_changes,
    merged_records,
    read_arranged,
)
from penstock.state.schema import ARRANGEMENT, KEY_RECORD, StateSchema, merged_schemas

SAVEPOINT_FILE = "savepoint.json"
FORMAT = "penstock-savepoint"
VERSION = 1

Schemas = dict[bytes, StateSchema]
T = TypeVar("T")
R = TypeVar("R")
RunAll = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Calls a function for each of some picklable items, wherever it likes, and returns what they gave, in order."""


def one_by_one(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Calls in this process."""
    return [function(item) for item in items]


def write_savepoint(
    directory: str, metadata: CheckpointMetadata, storage: CheckpointStorage, run: RunAll = one_by_one
) -> str:
    """Writes a savepoint of a committed checkpoint below `directory`; returns its path.

    The metadata is written last: a folder without it is not a savepoint.
    """
    _, root = filesystem_for(f"{directory.rstrip('/')}/{savepoint_name(metadata.job_id)}")
    reach(Point.SAVEPOINT_NEXT)
    written = run(write_share, _shares(root, metadata))
    states: dict[str, KeyedParts] = {uid: KeyedParts() for uid in metadata.operators}
    for uid, share in written:
        states[uid] = states[uid].plus(share)
    operators = {
        uid: dataclasses.replace(op, subtasks=tuple(_inline(sub, storage) for sub in op.subtasks))
        for uid, op in metadata.operators.items()
    }
    reach(Point.SAVEPOINT_PARTS)
    seal_savepoint(root, dataclasses.replace(metadata, operators=operators), states)
    reach(Point.SAVEPOINT_SEALED)
    return root


def savepoint_name(job_id: str) -> str:
    return f"savepoint-{re.sub('[^A-Za-z0-9]', '', job_id)[:6]}-{uuid.uuid4().hex[:12]}"


@dataclasses.dataclass(frozen=True)
class KeyedParts:
    """The keyed state of an operator as it lies in a savepoint: what is known about it, and the files."""

    schemas: Schemas = dataclasses.field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    def plus(self, other: KeyedParts) -> KeyedParts:
        return KeyedParts(merged_schemas(self.schemas, other.schemas), (*self.parts, *other.parts))


def seal_savepoint(root: str, metadata: CheckpointMetadata, keyed: Mapping[str, KeyedParts]) -> None:
    """Makes a folder, in which the parts lie already, a savepoint."""
    files, root = filesystem_for(root)
    described = json.dumps(_describe(metadata, keyed), indent=2, ensure_ascii=False).encode()
    files.write(f"{root}/{SAVEPOINT_FILE}", described)
    properties = {**metadata.properties, SAVEPOINT_PROPERTY: {"description": xxh3_64_hexdigest(described)}}
    alone = dataclasses.replace(metadata, properties=properties)
    files.write(f"{root}/{METADATA_FILE}", encode_metadata(alone))


def is_savepoint(path: str) -> bool:
    """Whether a path that a user gave is a savepoint (and not a checkpoint)."""
    files, root = filesystem_for(savepoint_folder(path))
    return SAVEPOINT_FILE in files.names(root)


def read_savepoint(path: str, storage: CheckpointStorage, run: RunAll = one_by_one) -> CheckpointMetadata:
    """The savepoint as a checkpoint to start from; its keyed state becomes files in `storage`.

    Raises:
        CheckpointError: There is no savepoint, or a part of it cannot be read.
    """
    opened = open_savepoint(path)
    metadata = opened.metadata
    pieces = [
        _PartToRead(opened.root, uid, part, keyed.schemas, metadata.epoch, storage)
        for uid, keyed in opened.keyed.items()
        for part in keyed.parts
    ]
    handles: dict[str, list[KeyedStateHandle]] = {}
    for piece, handle in zip(pieces, run(_read_part, pieces), strict=True):
        if handle is not None:
            handles.setdefault(piece.uid, []).append(handle)
    operators = {uid: _with_handles(op, handles.get(uid, [])) for uid, op in metadata.operators.items()}
    return dataclasses.replace(metadata, operators=operators)


@dataclasses.dataclass(frozen=True)
class OpenedSavepoint:
    """What a savepoint says of itself. `metadata` has no keyed state: that is in `keyed`, by uid."""

    root: str
    metadata: CheckpointMetadata
    keyed: Mapping[str, KeyedParts]


def open_savepoint(path: str) -> OpenedSavepoint:
    """Looks what is in a savepoint; no keyed state is read.

    Raises:
        CheckpointError: There is none, or it is damaged or incomplete.
    """
    files, root = filesystem_for(savepoint_folder(path))
    described, digest = _read_description(files, root)
    try:
        metadata = decode_metadata(files.read(f"{root}/{METADATA_FILE}"), root)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"the savepoint is incomplete: it has no {METADATA_FILE}",
            where=root,
            do="copy the whole folder, or use another savepoint",
        ) from error
    known = metadata.properties.get(SAVEPOINT_PROPERTY)
    if isinstance(known, dict) and known.get("description") != digest:
        raise CheckpointError(
            "savepoint.json is damaged: it is not the one that was written",
            where=root,
            do="restore it from a copy, or use another savepoint",
        )
    keyed: dict[str, KeyedParts] = {}
    for uid in metadata.operators:
        entry = described["operators"].get(uid, {})
        named = [msgspec.convert(part, Part) for part in entry.get("parts", [])]
        parts = parts_of(files, operator_folder(root, uid), named)
        keyed[uid] = KeyedParts(_decode_schemas(entry.get("states", [])), tuple(parts))
    properties = {name: value for name, value in metadata.properties.items() if name != SAVEPOINT_PROPERTY}
    return OpenedSavepoint(root, dataclasses.replace(metadata, properties=properties), keyed)


def savepoint_is_intact(path: str) -> bool:
    """Whether a job could start from it; reads all of it."""
    try:
        opened = open_savepoint(path)
        files, _ = filesystem_for(opened.root)
        for uid, keyed in opened.keyed.items():
            for part in keyed.parts:
                read_table(files, operator_folder(opened.root, uid), part)
    except (CheckpointError, OSError):
        return False
    return True


def savepoint_rows(path: str, uid: str) -> pa.Table:
    """The keyed state of one operator as a table, to look at."""
    opened = open_savepoint(path)
    files, _ = filesystem_for(opened.root)
    folder = operator_folder(opened.root, uid)
    tables = [read_table(files, folder, part) for part in opened.keyed.get(uid, KeyedParts()).parts]
    return pa.concat_tables(tables) if tables else ROW_SCHEMA.empty_table()


def operator_folder(root: str, uid: str) -> str:
    """Where the parts of an operator lie."""
    return f"{root}/operators/{_safe(uid)}"


# --- writing ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class StateShare:
    """The keyed state of one subtask, to be written."""

    root: str
    uid: str
    number: int
    handle: KeyedStateHandle

    @property
    def size_bytes(self) -> int:
        return sum(ref.size_bytes for ref in self.handle.files)


def _shares(root: str, metadata: CheckpointMetadata) -> list[StateShare]:
    return [
        StateShare(root, uid, number, subtask.keyed)
        for uid, operator in metadata.operators.items()
        for number, subtask in enumerate(operator.subtasks)
        if subtask.keyed is not None and subtask.keyed.files
    ]


def write_share(share: StateShare) -> tuple[str, KeyedParts]:
    """Writes the parts of one subtask's keyed state."""
    files, root = filesystem_for(share.root)
    chain = [(ref.path, open_verified(ref)) for ref in share.handle.files]
    first, last = share.handle.first_key_group, share.handle.last_key_group
    meta = merged_records(chain, first, last, Wanted(frozenset({META_TABLE})))
    schemas = {key: StateSchema.decode(value) for _, key, value in meta}
    rows = _rows(RowMaker(share.uid, schemas), chain, first, last)
    parts = write_parts(files, operator_folder(root, share.uid), f"part-{share.number}", rows)
    return share.uid, KeyedParts(schemas, tuple(parts))


def _rows(maker: RowMaker, chain: Sequence[Any], first: int, last: int) -> Iterator[SavepointRow]:
    for table, key, value in merged_records(chain, first, last):
        if table != META_TABLE:
            yield maker.row(table, key, value)
    for path, data in chain:
        for table, key, stream in read_arranged(data, path):
            yield maker.arranged(table, key, bytes(stream))


def _inline(subtask: OperatorSubtaskState, storage: CheckpointStorage) -> OperatorSubtaskState:
    def load(value: bytes | FileRef | None) -> bytes | None:
        return storage.read_file(value) if isinstance(value, FileRef) else value

    return dataclasses.replace(
        subtask,
        keyed=None,
        operator_state=load(subtask.operator_state),
        function_state=load(subtask.function_state),
        runtime_state=load(subtask.runtime_state),
        waiting=load(subtask.waiting),
    )


def _describe(metadata: CheckpointMetadata, keyed: Mapping[str, KeyedParts]) -> dict[str, Any]:
    nothing = KeyedParts()
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
                "states": [msgspec.to_builtins(s) for s in keyed.get(uid, nothing).schemas.values()],
                "parts": [msgspec.to_builtins(part) for part in keyed.get(uid, nothing).parts],
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


def _read_description(files: FileSystem, root: str) -> tuple[dict[str, Any], str]:
    try:
        data = files.read(f"{root}/{SAVEPOINT_FILE}")
        described: dict[str, Any] = json.loads(data)
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
    return described, xxh3_64_hexdigest(data)


def _decode_schemas(states: list[dict[str, Any]]) -> Schemas:
    found = [msgspec.convert(state, StateSchema) for state in states]
    return {KEY_RECORD if schema.kind == "key" else schema.name.encode(): schema for schema in found}


@dataclasses.dataclass(frozen=True)
class _PartToRead:
    """A part that is to become a snapshot file of a job."""

    root: str
    uid: str
    part: Part
    schemas: Schemas
    epoch: EpochId
    storage: CheckpointStorage

    @property
    def size_bytes(self) -> int:
        return max(0, self.part.size_bytes)


def _read_part(piece: _PartToRead) -> KeyedStateHandle | None:
    files, root = filesystem_for(piece.root)
    changes: Changes = {META_TABLE: {key: schema.encode() for key, schema in piece.schemas.items()}}
    groups: set[int] = set()
    arranged: dict[str, list[tuple[bytes, bytes]]] = {}
    for row in rows_of(read_table(files, operator_folder(root, piece.uid), piece.part)):
        groups.add(row["key_group"])
        if row["kind"] == ARRANGEMENT:
            arranged.setdefault(ARRANGED + row["state"], []).append((row["key_bytes"], row["value_bytes"]))
            groups.add(row["position"])
            continue
        table, key, value = record_of(row)
        changes.setdefault(table, {})[key] = value
    if not groups:
        return None
    data = encode_changes("snapshot", piece.epoch, changes, arranged)
    digest = xxh3_64_hexdigest(data)
    target = f"shared/savepoint/{_safe(piece.uid)}/{piece.epoch:08d}-{digest[:12]}.snapshot"
    ref = piece.storage.write_file(target, data)
    return KeyedStateHandle(piece.epoch, min(groups), max(groups), ref, ())


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


def savepoint_folder(path: str) -> str:
    """The folder, for somebody who may have named a file in it."""
    return re.sub(rf"/?({METADATA_FILE}|{SAVEPOINT_FILE})?/?$", "", path)


def _safe(uid: str) -> str:
    """A folder name for any uid: readable, and different for different uids."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", uid)[:60]
    return plain if plain == uid else f"{plain}-{xxh3_64_hexdigest(uid.encode())[:8]}"
