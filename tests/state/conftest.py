"""A subtask driven through epochs the way the stage does it, on either backend."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.checkpoint.handles import KeyedStateHandle
from penstock.checkpoint.packing import Compacted
from penstock.checkpoint.storage import MemoryFiles
from penstock.common.codecs import compile_codec
from penstock.common.key_groups import key_group_range
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.compaction import Compaction, compact
from penstock.state.factory import open_keyed_backend

MAX_PARALLELISM = 16


@dataclass
class Subtask:
    """One operator subtask: remembers what is committed, opens backends, runs epochs."""

    kind: str
    local_dir: str
    files: Any = field(default_factory=MemoryFiles)
    subtask: int = 0
    parallelism: int = 1
    key_type: Any = None
    committed: tuple[KeyedStateHandle, ...] = ()
    epoch: int = 0
    cached_entries: int = 1000
    backend: Any = None

    @property
    def groups(self) -> range:
        return key_group_range(self.subtask, MAX_PARALLELISM, self.parallelism)

    def open(self, kind: str | None = None) -> Any:
        """A new backend object, as another process would have it."""
        groups = self.groups
        return open_keyed_backend(
            kind or self.kind,
            local_dir=self.local_dir,
            job_id="job",
            uid="counter",
            subtask=self.subtask,
            first_key_group=groups.start,
            last_key_group=groups.stop - 1,
            max_parallelism=MAX_PARALLELISM,
            key_codec=compile_codec(self.key_type),
            storage=self.files,
            file_prefix=f"shared/counter/{self.subtask}",
            cached_entries=self.cached_entries,
        )

    def restart(self, kind: str | None = None) -> Any:
        """The process died; the next one starts from what is committed."""
        if self.backend is not None:
            self.backend.close()
        self.backend = self.open(kind)
        return self.backend

    def restore(self, take_snapshot: bool = False) -> KeyedStateRestore:
        groups = self.groups
        return KeyedStateRestore(self.epoch, groups.start, groups.stop - 1, self.committed, take_snapshot)

    def begin(self, now: int = 0, take_snapshot: bool = False) -> Any:
        if self.backend is None:
            self.backend = self.open()
        self._restore = self.restore(take_snapshot)
        self.snapshot = self.backend.begin_epoch(self._restore, now)
        return self.backend

    def end(self) -> Any:
        """Ends the epoch without committing it; returns what the driver would commit."""
        delta = self.backend.end_epoch(self.epoch + 1)
        return next_handle(self._restore, self.snapshot, self.epoch + 1, delta)

    def commit(self, handle: Any = None) -> None:
        self.committed = (handle or self.end(),)
        self.epoch += 1

    def compact(self, newest: int = 0, expiries: Mapping[str, int] | None = None) -> None:
        """The files but the newest ones are written anew, beside the job; the driver goes on with the snapshot."""
        (handle,) = self.committed
        self.committed = (compacted(handle, self.files, self.local_dir, newest, expiries),)


def compacted(
    handle: KeyedStateHandle,
    files: Any,
    folder: str,
    newest: int = 0,
    expiries: Mapping[str, int] | None = None,
) -> KeyedStateHandle:
    """The handle with one snapshot instead of all files but the newest ones; itself if there are not so many."""
    chain = handle.files[: len(handle.files) - newest]
    if not chain:
        return handle
    groups = handle.first_key_group, handle.last_key_group
    name = f"shared/{uuid.uuid4().hex}.snapshot"
    made = compact(Compaction(chain, groups, handle.epoch, name, expiries or {}), files, folder)
    after = Compacted(chain, made).adopted(handle)
    assert after is not None and len(after.files) == newest + 1
    return after


@pytest.fixture(params=["memory", "lmdb"])
def subtask(request, tmp_path):
    made = Subtask(request.param, str(tmp_path))
    yield made
    if made.backend is not None:
        made.backend.close()
