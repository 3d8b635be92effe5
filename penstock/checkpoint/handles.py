"""Pointers to checkpointed bytes: plain data that travels between driver and tasks.

A task never sends state through Spark; it writes a file into checkpoint storage and sends a handle. The
driver collects the handles of an epoch into the checkpoint's metadata and hands them back to the tasks of
the next epoch, which use them to find out whether their local copy is current.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.common.ids import EpochId


@dataclass(frozen=True)
class FileRef:
    """One immutable file in checkpoint storage. `checksum` is the xxh3_64 of its bytes, in hex.

    A packed file stands for several (`packing.py`): for key groups `groups` it leads from the state with the digest
    `since` to the one with `until` (`state/chain.py`), as they did.
    """

    path: str
    size_bytes: int
    checksum: str
    groups: tuple[int, int] | None = None
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class KeyedStateHandle:
    """Keyed state of one operator subtask as of an epoch: a snapshot and the deltas since, oldest first.

    `first_key_group`..`last_key_group` (inclusive) is the range the files cover. A subtask of another
    parallelism takes slices of several handles.
    """

    epoch: EpochId
    first_key_group: int
    last_key_group: int
    snapshot: FileRef | None
    deltas: tuple[FileRef, ...]

    @property
    def delta_bytes(self) -> int:
        return sum(ref.size_bytes for ref in self.deltas)

    @property
    def files(self) -> tuple[FileRef, ...]:
        return ((self.snapshot,) if self.snapshot else ()) + self.deltas

    def with_files(self, others: Mapping[FileRef, FileRef]) -> KeyedStateHandle:
        """The handle with some files replaced by copies."""
        snapshot = self.snapshot and others.get(self.snapshot, self.snapshot)
        return replace(self, snapshot=snapshot, deltas=tuple(others.get(ref, ref) for ref in self.deltas))

    def with_delta(self, epoch: EpochId, delta: FileRef | None) -> KeyedStateHandle:
        """The handle one epoch later; an epoch without changes has no delta file."""
        deltas = (*self.deltas, delta) if delta else self.deltas
        return KeyedStateHandle(epoch, self.first_key_group, self.last_key_group, self.snapshot, deltas)


@dataclass(frozen=True)
class OperatorSubtaskState:
    """Everything one operator subtask needs to go on after an epoch.

    `operator_state` is the encoded list/union/broadcast state, `function_state` what the user's function
    object carries from epoch to epoch, `runtime_state` what penstock's operator itself keeps (current
    watermark, reader positions, sink writer state), `waiting` what it has received and not processed yet. Small
    ones travel inline. `ended`: its input has ended and it will never run again.
    """

    keyed: KeyedStateHandle | None = None
    operator_state: bytes | FileRef | None = None
    function_state: bytes | FileRef | None = None
    runtime_state: bytes | FileRef | None = None
    ended: bool = False
    waiting: bytes | FileRef | None = None

    def with_files(self, others: Mapping[FileRef, FileRef]) -> OperatorSubtaskState:
        """The state with some files replaced by copies."""

        def other(value: bytes | FileRef | None) -> bytes | FileRef | None:
            return others.get(value, value) if isinstance(value, FileRef) else value

        return replace(
            self,
            keyed=self.keyed and self.keyed.with_files(others),
            operator_state=other(self.operator_state),
            function_state=other(self.function_state),
            runtime_state=other(self.runtime_state),
            waiting=other(self.waiting),
        )

    @property
    def files(self) -> tuple[FileRef, ...]:
        inline = (self.operator_state, self.function_state, self.runtime_state, self.waiting)
        return (self.keyed.files if self.keyed else ()) + tuple(x for x in inline if isinstance(x, FileRef))
