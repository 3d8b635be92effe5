"""What is in a checkpoint or a savepoint, for those who look at state from outside a job.

    contents = open_contents(path)                      either kind; nothing large is read
    operator = contents.operator("counts")
    operator.schemas()                                  what the program declared about its states
    for share in operator.shares:                       pieces of keyed state, with key groups of their own
        for table, key, raw in share.records(): ...     sorted; `state/records.py` takes them apart

A share is picklable and reads files by itself, so shares can be read by as many processes as there are. All records
of a key are in one share.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.checkpoint.filesystem import Slices, filesystem_for
from penstock.checkpoint.handles import FileRef, KeyedStateHandle
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint
from penstock.checkpoint.savepoint import KeyedParts, OpenedSavepoint, is_savepoint, open_savepoint
from penstock.checkpoint.savepoint import operator_folder as folder_of
from penstock.checkpoint.savepoint_parts import Part, read_table, rows_of, sorted_records
from penstock.checkpoint.storage import open_verified, read_metadata
from penstock.common.errors import CheckpointError
from penstock.common.key_groups import UPPER_BOUND_MAX_PARALLELISM
from penstock.state.files import (
    ALL,
    META_TABLE,
    Record,
    Wanted,
    merged_records,
    read_arranged,
    read_blocks,
)
from penstock.state.operator import SavedState, read_snapshot
from penstock.state.records import Schemas
from penstock.state.schema import ARRANGEMENT, StateSchema, merged_schemas

_ALL_GROUPS = (0, UPPER_BOUND_MAX_PARALLELISM)

OpenFile = Callable[[FileRef], Slices]


@dataclass(frozen=True)
class PartFile:
    """A part of a savepoint, and where it lies."""

    folder: str
    part: Part


@dataclass(frozen=True)
class KeyedShare:
    """Keyed state of some key groups of one operator: state files of a checkpoint, or parts of a savepoint."""

    uid: str
    first_key_group: int
    last_key_group: int
    handles: tuple[KeyedStateHandle, ...] = ()
    parts: tuple[PartFile, ...] = ()

    @property
    def size_bytes(self) -> int:
        """What it takes in storage."""
        files = sum(ref.size_bytes for handle in self.handles for ref in handle.files)
        return files + sum(max(0, piece.part.size_bytes) for piece in self.parts)

    def records(self, wanted: Wanted = ALL, open_file: OpenFile = open_verified) -> Iterator[Record]:
        """The records that are wanted, sorted; without what is known about the states."""
        streams = [self._of_files(handle, wanted, open_file) for handle in self.handles]
        streams += [self._of_part(piece, wanted) for piece in self.parts]
        return heapq.merge(*streams)

    def arranged(self, name: str | None = None) -> Iterator[tuple[str, bytes, bytes]]:
        """Blocks of arrangements: name, key and Arrow stream."""
        for handle in self.handles:
            for ref in handle.files:
                for table, key, stream in read_arranged(open_verified(ref), ref.path):
                    if name is None or table[2:] == name:
                        yield table[2:], key, bytes(stream)
        for piece in self.parts:
            rows = read_table(filesystem_for(piece.folder)[0], piece.folder, piece.part, name and [name])
            for row in rows_of(rows):
                if row["kind"] == ARRANGEMENT:
                    yield row["state"], row["key_bytes"], row["value_bytes"]

    def schemas(self) -> dict[bytes, StateSchema]:
        """What state files say; parts of a savepoint have it in `savepoint.json`."""
        found = {}
        for handle in self.handles:
            for ref in handle.files:
                data = filesystem_for(ref.path)[0].slices(ref.path)
                for _, keys, values in read_blocks(data, 0, 0, ref.path, Wanted(frozenset({META_TABLE}))):
                    pairs = zip(keys, values, strict=True)
                    found.update({key: StateSchema.decode(value) for key, value in pairs if value})
        return found

    @staticmethod
    def _of_files(handle: KeyedStateHandle, wanted: Wanted, open_file: OpenFile) -> Iterator[Record]:
        chain = [(ref.path, open_file(ref)) for ref in handle.files]
        for record in merged_records(chain, handle.first_key_group, handle.last_key_group, wanted):
            if record[0] != META_TABLE:
                yield record

    @staticmethod
    def _of_part(piece: PartFile, wanted: Wanted) -> Iterator[Record]:
        tables = wanted.tables
        states = None if tables is None else sorted(table[2:] for table in tables)
        table = read_table(filesystem_for(piece.folder)[0], piece.folder, piece.part, states)
        for record in sorted_records(table):
            if (tables is None or record[0] in tables) and record[1].startswith(wanted.prefix):
                yield record


@dataclass(frozen=True)
class OperatorContents:
    """The state of one operator."""

    checkpoint: OperatorCheckpoint
    shares: tuple[KeyedShare, ...]
    known: Schemas | None = None
    operator_blobs: tuple[bytes | FileRef, ...] = field(default=(), repr=False)

    @property
    def uid(self) -> str:
        return self.checkpoint.uid

    def schemas(self) -> dict[bytes, StateSchema]:
        """What the program declared about its keyed states; for a checkpoint a little of each file is read."""
        if self.known is not None:
            return dict(self.known)
        found: dict[bytes, StateSchema] = {}
        for share in self.shares:
            found = merged_schemas(found, share.schemas())
        return found

    def operator_states(self) -> list[dict[str, SavedState]]:
        """List, union and broadcast state by name, for each subtask."""
        return [read_snapshot(_bytes(blob)) for blob in self.operator_blobs]

    @property
    def keyed_bytes(self) -> int:
        return sum(share.size_bytes for share in self.shares)

    @property
    def operator_bytes(self) -> int:
        blobs = (b for s in self.checkpoint.subtasks for b in (s.operator_state, s.function_state))
        return sum(b.size_bytes if isinstance(b, FileRef) else len(b) for b in blobs if b is not None)


@dataclass(frozen=True)
class StateContents:
    """A checkpoint or savepoint. `metadata` of a savepoint has no handles of keyed state."""

    path: str
    is_savepoint: bool
    metadata: CheckpointMetadata
    operators: Mapping[str, OperatorContents]

    def operator(self, uid: str) -> OperatorContents:
        """The operator of that uid, or else of that name if no other has it.

        Raises:
            CheckpointError: There is no such operator.
        """
        if uid in self.operators:
            return self.operators[uid]
        named = [op for op in self.operators.values() if op.checkpoint.name == uid]
        if len(named) == 1:
            return named[0]
        have = ", ".join(f"{op.uid!r} ({op.checkpoint.name})" for op in self.operators.values())
        raise CheckpointError(f"no operator has the uid {uid!r}", where=self.path, do=f"there are {have}")


def open_contents(path: str) -> StateContents:
    """Opens a checkpoint or savepoint, given its folder or a file in it.

    Raises:
        CheckpointError: There is neither, or it is damaged.
    """
    if is_savepoint(path):
        opened = open_savepoint(path)
        return StateContents(
            opened.root, True, opened.metadata, {uid: _of_savepoint(opened, uid) for uid in opened.keyed}
        )
    return contents_of(read_metadata(path), filesystem_for(path)[1])


def contents_of(metadata: CheckpointMetadata, path: str = "") -> StateContents:
    """The state of a checkpoint whose metadata is at hand."""
    return StateContents(
        path, False, metadata, {uid: _of_checkpoint(op) for uid, op in metadata.operators.items()}
    )


def _of_savepoint(opened: OpenedSavepoint, uid: str) -> OperatorContents:
    operator = opened.metadata.operators[uid]  # type: ignore[index]
    keyed: KeyedParts = opened.keyed[uid]
    pieces = [PartFile(folder_of(opened.root, uid), part) for part in keyed.parts]
    return OperatorContents(operator, _clusters(uid, pieces), keyed.schemas, _blobs(operator))


def _clusters(uid: str, pieces: list[PartFile]) -> tuple[KeyedShare, ...]:
    """Parts whose key groups overlap go together, so that a share has all records of its keys."""
    shares: list[KeyedShare] = []
    for piece in sorted(pieces, key=lambda p: (p.part.rows >= 0, p.part.first_key_group, p.part.name)):
        unknown = piece.part.rows < 0
        first, last = _ALL_GROUPS if unknown else (piece.part.first_key_group, piece.part.last_key_group)
        if shares and first <= shares[-1].last_key_group:
            before = shares.pop()
            first, last = before.first_key_group, max(last, before.last_key_group)
            shares.append(KeyedShare(uid, first, last, (), (*before.parts, piece)))
        else:
            shares.append(KeyedShare(uid, first, last, (), (piece,)))
    return tuple(shares)


def _of_checkpoint(operator: OperatorCheckpoint) -> OperatorContents:
    handles = [sub.keyed for sub in operator.subtasks if sub.keyed is not None and sub.keyed.files]
    shares = [KeyedShare(operator.uid, h.first_key_group, h.last_key_group, (h,)) for h in handles]
    return OperatorContents(operator, tuple(shares), None, _blobs(operator))


def _blobs(operator: OperatorCheckpoint) -> tuple[bytes | FileRef, ...]:
    return tuple(sub.operator_state for sub in operator.subtasks if sub.operator_state is not None)


def _bytes(blob: bytes | FileRef) -> bytes:
    return open_verified(blob)[:] if isinstance(blob, FileRef) else blob
