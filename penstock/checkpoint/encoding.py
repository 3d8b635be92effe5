"""The bytes of `_metadata`: readable JSON first, then the parts that only penstock understands.

    {"format": "penstock-checkpoint", "version": 1, "epoch": 7, ... "operators": {...}}  \\n
    {"parts": [[offset, length], ...], "checksum": "..."}  \\n
    part · part · …

The header names every file, size and checksum, so that other tools can list, copy or verify a checkpoint. A
part is a pickle (enumerator state, splits, committables) or bytes that an operator gave; the header refers to
it as {"part": n}.
"""

from __future__ import annotations

import json
from typing import Any

import cloudpickle
from xxhash import xxh3_64_hexdigest

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import (
    CheckpointMetadata,
    OperatorCheckpoint,
    PendingCommit,
    SourceCheckpoint,
)
from penstock.common.errors import CheckpointError
from penstock.common.ids import EpochId, OperatorUid

FORMAT = "penstock-checkpoint"
VERSION = 1

Json = dict[str, Any]


class _Parts:
    """Collects the opaque parts while the header is written."""

    def __init__(self) -> None:
        self.data: list[bytes] = []

    def add(self, data: bytes) -> Json:
        self.data.append(data)
        return {"part": len(self.data) - 1}

    def pickle(self, value: Any) -> Json:
        return self.add(cloudpickle.dumps(value, 5))


def encode_metadata(metadata: CheckpointMetadata) -> bytes:
    parts = _Parts()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "epoch": metadata.epoch,
        "job_id": metadata.job_id,
        "job_name": metadata.job_name,
        "timestamp_ms": metadata.timestamp_ms,
        "finished": metadata.finished,
        "operators": {uid: _operator_json(op, parts) for uid, op in metadata.operators.items()},
        "sources": {uid: _source_json(source, parts) for uid, source in metadata.sources.items()},
        "commits": [
            {"uid": c.uid, "committables": [parts.pickle(x) for x in c.committables]}
            for c in metadata.commits
        ],
        "properties": parts.pickle(metadata.properties),
    }
    body = b"".join(parts.data)
    first = json.dumps(header).encode()
    index, offset = [], 0
    for part in parts.data:
        index.append([offset, len(part)])
        offset += len(part)
    tail = {"parts": index}
    checksum = xxh3_64_hexdigest(first + b"\n" + _index(tail) + body)
    second = json.dumps({**tail, "checksum": checksum}).encode()
    return first + b"\n" + second + b"\n" + body


def decode_metadata(data: bytes, where: str) -> CheckpointMetadata:
    """The metadata; CheckpointError if a byte is missing or wrong."""
    first, _, rest = data.partition(b"\n")
    second, _, body = rest.partition(b"\n")
    try:
        header, tail = json.loads(first), json.loads(second)
        kind, version, checksum = header.get("format"), header.get("version", 0), tail.get("checksum")
    except (ValueError, AttributeError) as error:
        raise CheckpointError("checkpoint metadata is damaged", where=where) from error
    if kind == FORMAT and version > VERSION:
        raise CheckpointError(
            f"checkpoint has format {version}, this version reads up to {VERSION}",
            where=where,
            do="restore it with the version of penstock that wrote it, or a newer one",
        )
    if kind != FORMAT or checksum != xxh3_64_hexdigest(first + b"\n" + _index(tail) + body):
        raise CheckpointError("checkpoint metadata is damaged: its checksum does not match", where=where)
    parts = [body[offset : offset + length] for offset, length in tail["parts"]]
    return _metadata(header, parts)


def _index(tail: Json) -> bytes:
    return json.dumps(tail.get("parts")).encode()


def _metadata(header: Json, parts: list[bytes]) -> CheckpointMetadata:
    return CheckpointMetadata(
        epoch=EpochId(header["epoch"]),
        job_id=header["job_id"],
        job_name=header["job_name"],
        timestamp_ms=header["timestamp_ms"],
        operators={OperatorUid(uid): _operator(uid, op, parts) for uid, op in header["operators"].items()},
        sources={OperatorUid(uid): _source(uid, s, parts) for uid, s in header["sources"].items()},
        commits=tuple(
            PendingCommit(OperatorUid(c["uid"]), tuple(_unpickle(x, parts) for x in c["committables"]))
            for c in header["commits"]
        ),
        finished=header["finished"],
        properties=_unpickle(header["properties"], parts),
    )


def _operator_json(op: OperatorCheckpoint, parts: _Parts) -> Json:
    return {
        "name": op.name,
        "parallelism": op.parallelism,
        "max_parallelism": op.max_parallelism,
        "subtasks": [_subtask_json(sub, parts) for sub in op.subtasks],
    }


def _subtask_json(sub: OperatorSubtaskState, parts: _Parts) -> Json:
    out: Json = {}
    if sub.keyed is not None:
        out["keyed"] = {
            "epoch": sub.keyed.epoch,
            "key_groups": [sub.keyed.first_key_group, sub.keyed.last_key_group],
            "snapshot": _file_json(sub.keyed.snapshot) if sub.keyed.snapshot else None,
            "deltas": [_file_json(ref) for ref in sub.keyed.deltas],
        }
    for name in ("operator_state", "function_state", "runtime_state", "waiting"):
        value = getattr(sub, name)
        if value is not None:
            out[name] = _file_json(value) if isinstance(value, FileRef) else parts.add(value)
    if sub.ended:
        out["ended"] = True
    return out


def _source_json(source: SourceCheckpoint, parts: _Parts) -> Json:
    return {
        "enumerator": parts.pickle(source.enumerator),
        "splits": {
            split_id: {
                "split": parts.pickle(split),
                "position": parts.pickle(position),
                "shown": [repr(split)[:200], repr(position)[:200]],
                "finished": finished,
                "subtask": subtask,
            }
            for split_id, (split, position, finished, subtask) in source.splits.items()
        },
    }


def _file_json(ref: FileRef) -> Json:
    out: Json = {"path": ref.path, "size_bytes": ref.size_bytes, "checksum": ref.checksum}
    if ref.groups is not None:
        out |= {"groups": list(ref.groups), "since": ref.since, "until": ref.until}
    return out


def _file(data: Json) -> FileRef:
    groups = data.get("groups")
    return FileRef(**{**data, "groups": None if groups is None else (groups[0], groups[1])})


def _operator(uid: str, data: Json, parts: list[bytes]) -> OperatorCheckpoint:
    subtasks = tuple(_subtask(sub, parts) for sub in data["subtasks"])
    return OperatorCheckpoint(
        OperatorUid(uid), data["name"], data["parallelism"], data["max_parallelism"], subtasks
    )


def _subtask(data: Json, parts: list[bytes]) -> OperatorSubtaskState:
    keyed = None
    if "keyed" in data:
        kept = data["keyed"]
        keyed = KeyedStateHandle(
            EpochId(kept["epoch"]),
            first_key_group=kept["key_groups"][0],
            last_key_group=kept["key_groups"][1],
            snapshot=_file(kept["snapshot"]) if kept["snapshot"] else None,
            deltas=tuple(_file(ref) for ref in kept["deltas"]),
        )
    return OperatorSubtaskState(
        keyed,
        _bytes_or_file(data.get("operator_state"), parts),
        _bytes_or_file(data.get("function_state"), parts),
        _bytes_or_file(data.get("runtime_state"), parts),
        data.get("ended", False),
        _bytes_or_file(data.get("waiting"), parts),
    )


def _bytes_or_file(data: Json | None, parts: list[bytes]) -> bytes | FileRef | None:
    if data is None:
        return None
    return parts[data["part"]] if "part" in data else _file(data)


def _source(uid: str, data: Json, parts: list[bytes]) -> SourceCheckpoint:
    splits = {
        split_id: (
            _unpickle(s["split"], parts),
            _unpickle(s["position"], parts),
            s["finished"],
            s["subtask"],
        )
        for split_id, s in data["splits"].items()
    }
    return SourceCheckpoint(OperatorUid(uid), _unpickle(data["enumerator"], parts), splits)


def _unpickle(ref: Json, parts: list[bytes]) -> Any:
    return cloudpickle.loads(parts[ref["part"]])
