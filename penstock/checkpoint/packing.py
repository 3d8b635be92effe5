"""Packs many small delta files of a subtask into one, beside the running job.

Every epoch that changes keyed state adds a file, and everything that names the state names all of them: the plan of
each epoch, the metadata, and whoever restores reads them one by one. So a thread of the driver merges the older ones,

    snapshot  d1 d2 d3 … d28  d29 … d32        ─▶        snapshot  p  d29 … d32

and the coordinator puts the new handle into the job's progress between two epochs. A packed file knows which chain of
files it stands for (`FileRef.since`, `until`), so local copies that have applied d1 … d28 go on without reading it.
The newest deltas stay as they are: a copy may not have them yet. A crash leaves a file that no checkpoint names, and
the next start sweeps it.

A packed file with nothing below it is applied to an empty copy only, so it needs no removed keys. Without that, a job
that sets a timer for every element would name each of them for ever.
"""

from __future__ import annotations

import logging
import queue
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.checkpoint.handles import FileRef, KeyedStateHandle
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import DamagedStateError
from penstock.common.ids import EpochId
from penstock.state.chain import Step, digests_of
from penstock.state.files import META_TABLE, Changes, encode_changes, read_arranged, read_records

LOG = logging.getLogger(__name__)

PACK_DELTAS = 16
"""So many deltas that may be packed are worth it."""
KEPT_DELTAS = 4
"""The newest ones stay: whoever lags behind an epoch or two has to find them."""
PACK_BYTES = 4 << 20
"""Larger files are not packed (again): copying them would cost more than their names."""

Place = tuple[int, int]
"""Node and subtask."""


@dataclass(frozen=True)
class Packed:
    """The deltas of a handle from `first` on were put together."""

    first: int
    deltas: tuple[FileRef, ...]
    file: FileRef

    def adopted(self, handle: KeyedStateHandle) -> KeyedStateHandle | None:
        """The handle with the packed file; None if it has changed in another way meanwhile."""
        end = self.first + len(self.deltas)
        if handle.deltas[self.first : end] != self.deltas:
            return None
        deltas = (*handle.deltas[: self.first], self.file, *handle.deltas[end:])
        return replace(handle, deltas=deltas)


@dataclass(frozen=True)
class Compacted:
    """The oldest files of a handle were written anew as one snapshot (`state/compaction.py`)."""

    chain: tuple[FileRef, ...]
    file: FileRef

    def adopted(self, handle: KeyedStateHandle) -> KeyedStateHandle | None:
        """The handle with the snapshot; None if it has changed in another way meanwhile."""
        if handle.files[: len(self.chain)] != self.chain:
            return None
        return replace(handle, snapshot=self.file, deltas=handle.files[len(self.chain) :])


def to_pack(handle: KeyedStateHandle) -> tuple[int, tuple[FileRef, ...]] | None:
    """Which deltas are worth packing: where they begin, and the files."""
    old = handle.deltas[: max(0, len(handle.deltas) - KEPT_DELTAS)]
    first = next((i + 1 for i in range(len(old) - 1, -1, -1) if old[i].size_bytes > PACK_BYTES), 0)
    found = old[first:]
    return (first, found) if len(found) >= PACK_DELTAS else None


def pack(
    handle: KeyedStateHandle, first: int, deltas: Sequence[FileRef], storage: CheckpointStorage
) -> Packed:
    """Writes the file that stands for some successive deltas of a handle."""
    groups = handle.first_key_group, handle.last_key_group
    digests = digests_of(tuple(Step(ref, *groups) for ref in handle.files))
    begin = first + (handle.snapshot is not None)
    changes: Changes = {}
    arranged: dict[str, list[tuple[bytes, bytes]]] = {}
    for ref in deltas:
        data = storage.read_file(ref)
        for table, key, value in read_records(data, *groups, ref.path):
            changes.setdefault(table, {})[key] = value
        for table, key, stream in read_arranged(data, ref.path):
            arranged.setdefault(table, []).append((key, bytes(stream)))
    if first == 0 and handle.snapshot is None:
        changes = _without_removals(changes)
    folder = deltas[-1].path.rpartition("/")[0].removeprefix(storage.root + "/")
    name = f"{folder}/{handle.epoch:08d}-{uuid.uuid4().hex[:12]}.delta"
    written = storage.write_file(name, encode_changes("delta", EpochId(handle.epoch), changes, arranged))
    file = replace(written, groups=groups, since=digests[begin], until=digests[begin + len(deltas)])
    return Packed(first, tuple(deltas), file)


def _without_removals(changes: Changes) -> Changes:
    """What is known about states stays whole: it belongs to no key group, so others may write it, too."""
    kept: Changes = {
        table: {key: value for key, value in records.items() if value is not None}
        for table, records in changes.items()
        if table != META_TABLE
    }
    kept = {table: records for table, records in kept.items() if records}
    return {**kept, META_TABLE: changes[META_TABLE]} if META_TABLE in changes else kept


class Packer:
    """The thread that packs; asked and listened to by the coordinator alone."""

    def __init__(self, storage: CheckpointStorage) -> None:
        self._storage = storage
        self._asked: queue.SimpleQueue[tuple[Place, KeyedStateHandle] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Place, Packed | None]] = queue.SimpleQueue()
        self._busy: set[Place] = set()
        self._thread: threading.Thread | None = None

    def ask(self, handles: Mapping[Place, KeyedStateHandle]) -> None:
        """Has those packed that are worth it and are not being packed already. Returns at once."""
        for place, handle in handles.items():
            if place not in self._busy and self._is_own(handle) and to_pack(handle) is not None:
                self._busy.add(place)
                self._asked.put((place, handle))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="penstock-packer", daemon=True)
                    self._thread.start()

    def take(self) -> dict[Place, Packed]:
        """What has been packed since the last call."""
        found = {}
        while not self._done.empty():
            place, packed = self._done.get()
            self._busy.discard(place)
            if packed is not None:
                found[place] = packed
        return found

    def discard(self, packed: Packed) -> None:
        """Nobody wants it any more."""
        self._storage.discard(packed.file)

    def close(self) -> None:
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()

    def _is_own(self, handle: KeyedStateHandle) -> bool:
        return all(ref.path.startswith(self._storage.root + "/") for ref in handle.deltas)

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            place, handle = asked
            packed = None
            try:
                found = to_pack(handle)
                packed = pack(handle, *found, self._storage) if found is not None else None
            except DamagedStateError as error:
                # The state was written anew meanwhile and its deltas are deleted; or it is found by whoever needs it.
                LOG.debug("deltas of keyed state were not packed: %s", error)
            except Exception as error:  # the job does not depend on it
                LOG.warning("deltas of keyed state were not packed: %s", error)
            self._done.put((place, packed))
