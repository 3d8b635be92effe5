"""Sinks (Sink V2, FLIP-143): writers in tasks prepare, the committer in the driver makes visible.

    task     writer.write(values, timestamps) ...; committables = writer.prepare_commit(end_of_input)
    driver   the committables become part of the checkpoint's metadata (durable)
             committer.commit(committables)    now, and again after a crash: it must be idempotent

Whatever a writer does before its committables are durable must be invisible (a hidden temporary file, an
open transaction) and harmless if nobody ever commits it: a task may be killed and run again at any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.ids import EpochId


@dataclass(frozen=True)
class WriterContext:
    """Where and when a writer runs. `attempt` is unique for every try of every epoch."""

    subtask_index: int
    parallelism: int
    epoch: EpochId
    attempt: str
    processing_time_ms: int
    job_id: str = ""
    type_info: Any = None


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


class Committer(ABC):
    """Lives in the driver; makes an epoch's output visible."""

    @abstractmethod
    def commit(self, committables: Sequence[Any]) -> None:
        """Must be idempotent: repeated on recovery for the last committed epoch. Raise to be retried."""

    def close(self) -> None:
        """The job is over."""
        return None


class Sink(ABC):
    """Describes a sink; picklable. Subclass it to write your own: see docs/custom_connectors.md."""

    @abstractmethod
    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called in a task for every epoch; `restored` holds former `snapshot()` results for this subtask
        (one normally; none or several after a change of parallelism)."""

    def create_committer(self) -> Committer | None:
        """Called once in the driver; None if writing is all there is to it."""
        return None
