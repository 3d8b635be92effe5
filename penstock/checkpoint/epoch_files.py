"""Bytes that a sink's writers leave with the checkpoint of their epoch, for its committer to read.

They are files of the job's checkpoint storage, named with the epoch. So they stay as long as a checkpoint needs them,
and those of attempts that were given up are swept with other state files.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.storage import CheckpointStorage, verify
from penstock.common.errors import DamagedStateError
from penstock.common.ids import EpochId, OperatorUid


@dataclass(frozen=True)
class StoredBytes:
    """A file of an epoch; picklable, as committables are."""

    ref: FileRef
    durable: bool

    @property
    def size_bytes(self) -> int:
        return self.ref.size_bytes

    def read(self) -> bytes:
        """The bytes as they were written.

        Raises:
            DamagedStateError: They are not there, or are others.
        """
        try:
            data = filesystem_for(self.ref.path)[0].read(self.ref.path)
        except FileNotFoundError as error:
            raise DamagedStateError(
                "output that is not yet published is missing from the checkpoint",
                where=self.ref.path,
                do="restore from another checkpoint or savepoint",
            ) from error
        verify(self.ref, data)
        return data

    def release(self) -> None:
        """Nobody reads it again. Files that a checkpoint names go with the checkpoint."""
        if not self.durable:
            filesystem_for(self.ref.path)[0].delete(self.ref.path)


@dataclass(frozen=True)
class EpochFiles:
    """Where the writer of one sink subtask puts the bytes of an epoch."""

    storage: CheckpointStorage
    uid: OperatorUid
    epoch: EpochId

    def write(self, data: bytes) -> StoredBytes:
        name = f"shared/{self.uid}-sink/{self.epoch}-{uuid.uuid4().hex}"
        return StoredBytes(self.storage.write_file(name, data), self.storage.durable)
