"""Bringing a stream's records back into the program: what `execute_and_collect` is made of.

A writer returns its epoch's records, encoded, as one committable. The committer runs in the driver, where
the program is, and puts them into a buffer found by the sink's `collect_id`. So a record is seen only when
its epoch is committed, and once: a repeated commit is recognised by (epoch, subtask).
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.codecs import compile_codec
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.sink import Committer, Sink, SinkWriter, WriterContext

__all__ = ["CollectIterator", "CollectSink"]

_POLL_SECONDS = 0.05
_ENDED = frozenset({"FINISHED", "CANCELED", "FAILED", "SUSPENDED"})


@dataclass(frozen=True)
class CollectedRecords:
    """What one subtask wrote in one epoch."""

    epoch: int
    subtask_index: int
    batches: tuple[bytes, ...]


class CollectSink(Sink):
    """Hands the records of a stream to the program that started the job.

    Args:
        type_info: Type of the records, as the stream declares it; None: any picklable object.
    """

    def __init__(self, type_info: TypeInformation | None = None) -> None:
        self.type_info = type_info
        self.collect_id = uuid.uuid4().hex

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        return _CollectWriter(context, self.type_info)

    def create_committer(self) -> Committer:
        return _CollectCommitter(self.collect_id)

    def iterator(self, running_job: Any) -> CollectIterator:
        """The collected values as they are committed.

        Args:
            running_job: The job this sink belongs to, with `status()`, `wait()` and `cancel()`.
        """
        return CollectIterator(_buffer(self.collect_id), running_job, self.type_info)


class _CollectWriter(SinkWriter):
    def __init__(self, context: WriterContext, type_info: TypeInformation | None) -> None:
        self._context = context
        self._codec = compile_codec(type_info)
        self._batches: list[bytes] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._batches.append(self._codec.encode_batch(values))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if not self._batches:
            return ()
        context = self._context
        return (CollectedRecords(int(context.epoch), context.subtask_index, tuple(self._batches)),)


class _CollectCommitter(Committer):
    takes_several_epochs = True
    repeats_harmlessly = True  # the program that has taken the elements is gone with its driver

    def __init__(self, collect_id: str) -> None:
        self._collect_id = collect_id

    def commit(self, committables: Sequence[Any]) -> None:
        buffer = _buffer(self._collect_id)
        first = min((c.epoch for c in committables), default=0)
        for records in sorted(committables, key=lambda c: (c.epoch, c.subtask_index)):
            buffer.add(records, first)


class _CollectBuffer:
    """Committed batches that the program has not fetched yet. The job adds, the program takes."""

    def __init__(self, collect_id: str) -> None:
        self.collect_id = collect_id
        self._changed = threading.Condition()
        self._batches: deque[bytes] = deque()
        self._seen: set[tuple[int, int]] = set()
        self._closed = False

    def add(self, records: CollectedRecords, first: int) -> None:
        """Takes what it has not seen; `first` is the first epoch of the checkpoint."""
        with self._changed:
            key = (records.epoch, records.subtask_index)
            if key in self._seen or self._closed:
                return
            # Only the last checkpoint can be committed again: older keys need not be remembered.
            self._seen = {seen for seen in self._seen if seen[0] >= first - 1}
            self._seen.add(key)
            self._batches.extend(records.batches)
            self._changed.notify_all()

    def take(self, timeout: float) -> bytes | None:
        """The oldest batch, or None if there was none within `timeout` seconds."""
        with self._changed:
            if not self._batches:
                self._changed.wait(timeout)
            return self._batches.popleft() if self._batches else None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._batches.clear()
        with _registry_lock:
            _buffers.pop(self.collect_id, None)


_buffers: dict[str, _CollectBuffer] = {}
_registry_lock = threading.Lock()


def _buffer(collect_id: str) -> _CollectBuffer:
    with _registry_lock:
        return _buffers.setdefault(collect_id, _CollectBuffer(collect_id))


class CollectIterator(Iterator[Any]):
    """Values of a running job. Ends when the job has ended; raises what made the job fail.

    Use it as a context manager, or call `close()`: that cancels the job if it still runs.
    """

    def __init__(self, buffer: _CollectBuffer, job: Any, type_info: TypeInformation | None) -> None:
        self._buffer = buffer
        self._job = job
        self._codec = compile_codec(type_info)
        self._values: Iterator[Any] = iter(())
        self._ended = False

    def __iter__(self) -> CollectIterator:
        return self

    def __next__(self) -> Any:
        for value in self._values:
            return self._codec.present(value)
        while not self._ended:
            batch = self._next_batch()
            if batch is None:
                self._finish()
                break
            self._values = iter(self._codec.decode_batch(batch))
            for value in self._values:
                return self._codec.present(value)
        raise StopIteration

    def next(self) -> Any:
        """The next value, as PyFlink's `CloseableIterator` spells it."""
        return next(self)

    def _next_batch(self) -> bytes | None:
        while True:
            # Asked before looking into the buffer: what an ended job has committed is there by then.
            ended = _has_ended(self._job)
            batch = self._buffer.take(0 if ended else _POLL_SECONDS)
            if batch is not None or ended:
                return batch

    def _finish(self) -> None:
        self._ended = True
        self._buffer.close()
        self._job.wait()

    def close(self) -> None:
        """Cancels the job if it still runs, and forgets what was not fetched."""
        if self._ended:
            return
        self._ended = True
        self._values = iter(())
        self._buffer.close()
        if not _has_ended(self._job):
            self._job.cancel()

    def __enter__(self) -> CollectIterator:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.close()


def _has_ended(job: Any) -> bool:
    return job.status().name in _ENDED
