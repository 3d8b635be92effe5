"""A base for sinks of systems that take requests: buffering, order, retries and back-off are here.

What is left to a system is what it knows best, and fits on a page:

    converter.convert(value)    what to send for an element: requests, each a payload, its size, the key it is about
    client.submit(payloads)     sends a batch of payloads over a connection

The writer of an epoch spreads requests over *lanes*. A lane has a thread and a client of its own and sends one batch
after the other, so as many batches are in flight as there are lanes. What always holds:

- Requests about the same key are sent in order, also if some have to be sent again: they share a lane, and a batch
  never holds two of them unless the client says that it takes a batch whole or not at all.
- An epoch is complete when all its requests were accepted; then nothing is in a buffer any more. An epoch that is run
  again sends again: at least once.
- A request that a system refuses for good fails the epoch, and so does one that is not accepted after the retries.

Flink's `AsyncSinkBase` is the model; its settings have the same names here.
"""

from __future__ import annotations

import os
import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = [
    "AsyncSinkBase",
    "AsyncSinkSettings",
    "Request",
    "RequestClient",
    "RequestConverter",
    "Unavailable",
]

_BATCHES_WAITING = 2
"""Batches that a lane may have waiting behind the one in flight, before the writer waits."""


@dataclass(frozen=True)
class AsyncSinkSettings:
    """How requests are buffered and sent again.

    Attributes:
        max_batch_size: Requests of a batch.
        max_batch_size_in_bytes: Bytes of a batch, as `Request.size_bytes` counts them.
        max_in_flight_requests: Batches that are under way at the same time, over as many connections.
        max_buffered_requests: Requests that wait; then the writer waits.
        max_record_size_in_bytes: A request that is larger is refused.
        max_retries: How often what was not accepted is sent again.
        initial_backoff_ms, max_backoff_ms: The pause before that; it doubles each time, and varies by a half, so that
            tasks that were refused together do not come back together.
    """

    max_batch_size: int = 500
    max_batch_size_in_bytes: int = 5 << 20
    max_in_flight_requests: int = 4
    max_buffered_requests: int = 10_000
    max_record_size_in_bytes: int = 16 << 20
    max_retries: int = 5
    initial_backoff_ms: int = 100
    max_backoff_ms: int = 10_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 0 if name in ("max_retries", "initial_backoff_ms", "max_backoff_ms") else 1
            if value < least:
                raise ValidationError(f"{name} is {value}: it must not be less than {least}")

    def pause_s(self, attempt: int) -> float:
        """How long to wait after a failed try, counted from 0."""
        longest = min(self.max_backoff_ms, self.initial_backoff_ms * (1 << min(attempt, 30)))
        return longest * random.uniform(0.5, 1.0) / 1000


DEFAULT_SETTINGS = AsyncSinkSettings()


class Request(NamedTuple):
    """What is to be sent.

    Attributes:
        payload: Whatever the client takes.
        size_bytes: About how large it is.
        key: What it is about; requests with the same key keep their order. None: any order will do.
    """

    payload: Any
    size_bytes: int
    key: Hashable = None


class RequestConverter(ABC):
    """Elements to requests; one for each writer and epoch."""

    @abstractmethod
    def convert(self, value: Any) -> Iterable[Request]:
        """What is to be sent for an element."""

    def rest(self) -> Iterable[Request]:
        """What is still to be sent when the epoch's elements have all come."""
        return ()


class Unavailable(Exception):
    """A client raises it where trying again may help: nothing of the batch counts as accepted."""


class RequestClient(ABC):
    """A connection, used by one thread at a time, and kept from epoch to epoch by its process."""

    takes_batches_whole: bool = False
    """Whether `submit` accepts all requests of a batch, in their order, or none: then a batch may hold several
    requests about the same key."""

    @abstractmethod
    def submit(self, payloads: Sequence[Any]) -> Sequence[int]:
        """Sends a batch and waits for the answer; gives the places of the payloads that must be sent again.

        Raises:
            Unavailable: None was accepted, or nobody knows; trying again may help.
            PenstockError: One was refused for good.
        """

    def close(self) -> None:
        """Lets the connection go; the next `submit` makes a new one."""


class AsyncSinkBase(Sink):
    """Describes such a sink; picklable. A subclass says what is sent, and how."""

    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    @property
    @abstractmethod
    def system(self) -> str:
        """What is written to, for people: kind, address and name."""

    @property
    @abstractmethod
    def client_identity(self) -> Hashable:
        """What makes two clients the same: sinks with equal ones share connections."""

    @abstractmethod
    def create_client(self) -> RequestClient:
        """Called in tasks, once for each lane of a process."""

    @abstractmethod
    def create_converter(self, context: WriterContext) -> RequestConverter:
        """Called in tasks for every epoch."""

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> AsyncSinkWriter:
        return AsyncSinkWriter(self, context)


class AsyncSinkWriter(SinkWriter):
    """Buffers the requests of an epoch and sees to it that they are accepted before the epoch ends."""

    def __init__(self, sink: AsyncSinkBase, context: WriterContext) -> None:
        self._settings = sink.settings
        self._system = sink.system
        self._converter = sink.create_converter(context)
        self._lanes = [_Lane(sink, line) for line in _lines(sink)]
        self._turn = 0

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        convert = self._converter.convert
        for value in values:
            self._add(convert(value))

    def _add(self, requests: Iterable[Request]) -> None:
        limit = self._settings.max_record_size_in_bytes
        for request in requests:
            if request.size_bytes > limit:
                raise ValidationError(
                    f"a request has {request.size_bytes} bytes, more than the {limit} that are allowed",
                    where=self._system,
                    do="raise the limit, or leave the record out",
                )
            self._lane(request.key).add(request)

    def _lane(self, key: Hashable) -> _Lane:
        if key is None:
            self._turn += 1
            return self._lanes[self._turn // self._settings.max_batch_size % len(self._lanes)]
        return self._lanes[hash(key) % len(self._lanes)]

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        self._add(self._converter.rest())
        for lane in self._lanes:
            lane.flush()
        try:
            for lane in self._lanes:
                lane.wait(0)
        except BaseException:
            self.abort()
            raise
        return ()

    def abort(self) -> None:
        """What waits is forgotten; what is under way may still be accepted."""
        for lane in self._lanes:
            lane.stop()


class _Line(NamedTuple):
    """A thread and its client, kept by the process."""

    thread: ThreadPoolExecutor
    client: RequestClient


_kept: dict[tuple[int, Hashable], list[_Line]] = {}
_guard = threading.Lock()


def _lines(sink: AsyncSinkBase) -> list[_Line]:
    """The process's connections for a sink: they outlive the epochs' writers."""
    key = (os.getpid(), (type(sink), sink.client_identity, sink.settings.max_in_flight_requests))
    with _guard:
        if key not in _kept:
            count = sink.settings.max_in_flight_requests
            _kept[key] = [
                _Line(ThreadPoolExecutor(1, "penstock-requests"), sink.create_client()) for _ in range(count)
            ]
        return _kept[key]


class _Lane:
    """The requests of one epoch that go over one connection, in batches, one after the other."""

    def __init__(self, sink: AsyncSinkBase, line: _Line) -> None:
        self._settings = sink.settings
        self._system = sink.system
        self._line = line
        self._batch: list[Any] = []
        self._batch_bytes = 0
        self._keys: set[Hashable] = set()
        self._under_way: list[tuple[Future[None], int]] = []
        self._stopped = threading.Event()
        lanes = sink.settings.max_in_flight_requests
        self._most_waiting = max(sink.settings.max_batch_size, sink.settings.max_buffered_requests // lanes)

    def add(self, request: Request) -> None:
        settings = self._settings
        full = self._batch_bytes + request.size_bytes > settings.max_batch_size_in_bytes and self._batch
        repeated = request.key in self._keys and not self._line.client.takes_batches_whole
        if full or repeated:
            self.flush()
        self._batch.append(request.payload)
        self._batch_bytes += request.size_bytes
        if request.key is not None:
            self._keys.add(request.key)
        if len(self._batch) >= settings.max_batch_size:
            self.flush()

    def flush(self) -> None:
        """Hands the batch to the thread, and waits while too much waits there."""
        if not self._batch:
            return
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        self._keys.clear()
        self._under_way.append((self._line.thread.submit(self._send, batch), len(batch)))
        self.wait(_BATCHES_WAITING)

    def wait(self, batches: int) -> None:
        """Until no more than so many batches, and no more requests than may be buffered, are under way."""
        while len(self._under_way) > batches or (
            len(self._under_way) > 1 and sum(size for _, size in self._under_way) > self._most_waiting
        ):
            done, _ = self._under_way.pop(0)
            done.result()

    def stop(self) -> None:
        """The epoch failed: batches that wait are not sent, and nothing is sent again."""
        self._stopped.set()
        for done, _ in self._under_way:
            done.cancel()

    def _send(self, payloads: Sequence[Any]) -> None:
        settings, client = self._settings, self._line.client
        for attempt in range(settings.max_retries + 1):
            if self._stopped.is_set():
                return
            cause: Exception | None = None
            try:
                again = client.submit(payloads)
                if not again:
                    return
                payloads = [payloads[place] for place in again]
            except Unavailable as error:
                cause = error
                client.close()
            if attempt == settings.max_retries:
                raise self._given_up(len(payloads), cause)
            self._stopped.wait(settings.pause_s(attempt))

    def _given_up(self, count: int, cause: Exception | None) -> ExternalSystemError:
        tries = self._settings.max_retries + 1
        why = str(cause) if cause is not None else "it is overloaded, or cannot take them now"
        return ExternalSystemError(
            f"{count} requests were not accepted in {tries} tries: {why}",
            where=self._system,
            do="see whether the system is well; more retries with longer pauses give it more time",
        )
