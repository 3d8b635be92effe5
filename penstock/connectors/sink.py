"""Sinks (Sink V2, FLIP-143): writers in tasks prepare, the committer in the driver makes visible.

    task     writer.write(values, timestamps) ...; committables = writer.prepare_commit(end_of_input)
    driver   the committables become part of the checkpoint's metadata (durable)
             committer.commit(committables)    now, and again after a crash: it must be idempotent

Whatever a writer does before its committables are durable must be invisible (a hidden temporary file, an
open transaction) and harmless if nobody ever commits it: a task may be killed and run again at any time.

Two things are optional. A writer that is an `ArrowWriter` takes columns; sinks of SQL tables mostly do. A sink
with a `SinkCoordinator` decides in the driver, once per epoch and knowing all of its committables, what else is
committed with them: a folder that is complete, say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from penstock.common.ids import EpochId

if TYPE_CHECKING:
    import pyarrow as pa


class StoredOutput(Protocol):
    """Bytes that lie with an epoch's checkpoint; picklable."""

    @property
    def size_bytes(self) -> int: ...

    def read(self) -> bytes: ...

    def release(self) -> None:
        """They are published: nobody reads them again."""


class OutputFiles(Protocol):
    """Where a writer may leave bytes of the epoch for its committer, who finds them after any crash."""

    def write(self, data: bytes) -> StoredOutput: ...


class StoredCommittable(Protocol):
    """A committable that names such bytes: they are kept as long as the checkpoint that names it."""

    @property
    def files(self) -> Sequence[StoredOutput]: ...


@dataclass(frozen=True)
class WriterContext:
    """Where and when a writer runs.

    `attempt` is unique for every try of every epoch. `job_id` is that of the job, or of a batch statement; it stays
    the same when a job goes on from a checkpoint. `files` is for sinks that publish what they keep in the checkpoint
    (see `StoredCommittable`); batch statements have none. `lineage` names the series of epochs for sinks that mark
    what they have published; without it they make up a name, and carry it on in `snapshot()`.
    """

    subtask_index: int
    parallelism: int
    epoch: EpochId
    attempt: str
    processing_time_ms: int
    job_id: str = ""
    type_info: Any = None
    files: OutputFiles | None = None
    lineage: str | None = None


class SinkWriter(ABC):
    """Writes one epoch's records of one subtask. A new one is made for every epoch."""

    @abstractmethod
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes a batch, in order."""

    def on_watermark(self, watermark: int) -> None:
        """The event time has come to `watermark`."""
        return None

    @abstractmethod
    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        """Flushes, and returns picklable committables; called once, at the end of the epoch."""

    def snapshot(self) -> Any:
        """Picklable state for the writer of the next epoch (e.g. an unfinished part file), or None."""
        return None

    def abort(self) -> None:
        """The epoch failed in this task: remove temporary things if that is easy."""
        return None


class ArrowWriter(SinkWriter):
    """A writer of a table that takes columns; one that does not gets tuples (see `connectors/table.py`)."""

    @abstractmethod
    def write_arrow(self, table: pa.Table) -> None:
        """Takes a batch, in order: the sink's columns by position, then `__kind` (int8: 0 +I, 1 -U, 2 +U, 3 -D)
        and `__pos` (int64: the order in which the changes were made)."""

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        raise NotImplementedError(f"{type(self).__name__} takes columns: call write_arrow")


class Committer(ABC):
    """Lives in the driver; makes the output of a checkpoint visible.

    `takes_several_epochs`: a checkpoint may have the output of several epochs, and all of it may be committed again.
    Committers that remember the last epoch alone cannot, and jobs with one of them have a checkpoint every epoch.
    `waits_for_no_checkpoint`: output is for people who look on, not for programs. It is shown when its epoch has run,
    and again if the driver is lost before the next checkpoint.
    `repeats_harmlessly`: a job may go on from an older checkpoint and publish anew, cut into other epochs, what was
    visible already. True if nobody sees that twice: elements replace each other by their key, or whoever took them is
    gone with the driver. Only then does a job pass over a damaged checkpoint by itself.
    """

    takes_several_epochs = False
    waits_for_no_checkpoint = False
    repeats_harmlessly = False

    @abstractmethod
    def commit(self, committables: Sequence[Any]) -> None:
        """Must be idempotent: repeated on recovery for the last checkpoint. Raise to be retried."""

    def close(self) -> None:
        """The job is over."""
        return None


@dataclass(frozen=True)
class Moment:
    """Where time stands at the end of an epoch, in milliseconds; `final`: no epoch comes after it."""

    processing_time_ms: int
    watermark: int
    final: bool = False


@dataclass(frozen=True)
class Taken:
    """What a sink makes of an epoch.

    Attributes:
        committables: What is committed with the epoch.
        state: What the coordinator wants to know in the next epoch; part of the checkpoint, so picklable.
        wake_ms: The processing time at which it wants an epoch even if there is nothing to read.
    """

    committables: tuple[Any, ...] = ()
    state: Any = None
    wake_ms: int | None = None


class SinkCoordinator(ABC):
    """Lives in the driver; looks at all that the writers of an epoch have left, before it becomes durable."""

    @abstractmethod
    def at_epoch_end(self, committables: Sequence[Any], moment: Moment, state: Any) -> Taken:
        """Says what is committed: the committables, more of them, or others.

        Called once for every try of an epoch, after all its writers and before the checkpoint is written, so it
        must change nothing anywhere. `state` is what the committed epoch before has left, at first None.
        """


class Sink(ABC):
    """Describes a sink; picklable. Subclass it to write your own: see docs/custom_connectors.md."""

    @abstractmethod
    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called in a task for every epoch.

        Args:
            context: Which subtask and epoch it writes for.
            restored: Former `snapshot()` results for this subtask: one normally; none or several after a change of
                parallelism.
        """

    def create_committer(self) -> Committer | None:
        """Called once in the driver; None if writing is all there is to it."""
        return None

    def create_coordinator(self) -> SinkCoordinator | None:
        """Called once in the driver; None if each writer decides for itself."""
        return None
