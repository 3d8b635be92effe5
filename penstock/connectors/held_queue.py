"""Sources over queues that give a message to one connection, and again if that is lost before it was acknowledged.

The driver owns the connection. Messages are numbered as they come; those of an epoch travel to its task in the
plan and are kept until the epoch is committed, so an epoch that is repeated gets the same ones. When the epoch is
committed they are acknowledged. A connection that is lost fails the job, which starts again from its checkpoint:
the broker then gives again what was not acknowledged.

So it is at least once: after a failure messages come again whose acknowledgement the broker did not get. Where
every message has an id of its own (`correlation_ids`) it is exactly once: ids of messages that are committed and
not settled are part of the checkpoint, and one that comes again is acknowledged and left out.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.common.errors import ExternalSystemError, MalformedRecordError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.message_bodies import Decode
from penstock.connectors.source import (
    BadRecord,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["HeldQueueSource", "Message", "QueueConsumer"]

_BATCH = 1_000
_POLL_MS = 20
_WHOLE = SourceSplit("queue")


class Message(NamedTuple):
    """One message; what the broker calls it is `tag`, and `topic` is where it was published, if that differs."""

    number: int
    tag: Any
    body: bytes
    correlation_id: str | None = None
    timestamp_ms: int | None = None
    topic: str | None = None


class QueueConsumer(ABC):
    """Keeps what a connection receives, in order. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: deque[Message] = deque()
        self._next = 0
        self.settled = 0
        """Messages with smaller numbers will not come again."""
        self.error: ExternalSystemError | None = None

    def start(self, first: int) -> None:
        """Begins to receive; the first message gets this number."""
        self._next = self.settled = first
        self.receive()

    @abstractmethod
    def receive(self) -> None:
        """Makes the connection and lets messages come, on a thread of its own."""

    @abstractmethod
    def acknowledge(self, number: int, tags: Sequence[Any]) -> None:
        """Messages before `number` are part of a checkpoint; `tags` are those of them that were not before."""

    @abstractmethod
    def stop(self) -> None:
        """Acknowledges what was committed, and closes. What was not is given to others by the broker."""

    def add(self, tag: Any, body: bytes, **known: Any) -> None:
        """A message has come."""
        with self._lock:
            self._messages.append(Message(self._next, tag, body, **known))
            self._next += 1

    def messages_from(self, number: int, limit: int) -> list[Message]:
        with self._lock:
            return [m for m in self._messages if m.number >= number][:limit]

    def committed(self, number: int) -> None:
        """Messages before this number are part of a checkpoint."""
        tags = []
        with self._lock:
            while self._messages and self._messages[0].number < number:
                tags.append(self._messages.popleft().tag)
        if tags:
            self.acknowledge(number, tags)


class HeldQueueSource(Source):
    """Reads a queue; subclasses say how, as attributes or properties.

    Attributes:
        decoder: Makes what turns bodies into records; called in tasks.
        correlation_ids: Whether messages have ids, by which one that comes again is known.
        prefetch: Messages that may be under way: not acknowledged, because not committed yet.
        queue: The queue's name.
    """

    decoder: Callable[[], Decode]
    correlation_ids: bool = False
    prefetch: int
    queue: str
    type_info: TypeInformation | None = None

    @property
    @abstractmethod
    def where(self) -> str:
        """The queue and its broker, for people."""

    @abstractmethod
    def consumer(self, known: Callable[[str | None], bool]) -> QueueConsumer:
        """What receives; `known` says of a message's id whether it was committed before."""

    def records(self, decode: Decode, message: Message) -> Sequence[Any]:
        """The records of a message."""
        return decode(message.body)

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _QueueEnumerator(self, restored)

    def create_reader(self) -> SourceReader:
        return _QueueReader(self)

    def produced_type(self) -> Any:
        return self.type_info


class _QueueEnumerator(SplitEnumerator):
    """Positions are numbers of messages. Its state are (number, id) of those that are not settled."""

    def __init__(self, source: HeldQueueSource, restored: Any) -> None:
        self._source = source
        self._discovered = restored is not None
        self._unsettled: list[tuple[int, str]] = list(restored or ())
        self._known: set[str] = set()
        self._consumer: QueueConsumer | None = None

    def discover(self) -> Sequence[SourceSplit]:
        if self._discovered:
            return ()
        self._discovered = True
        return (_WHOLE,)

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        start = position or 0
        consumer = self._consumer or self._begin(start)
        messages = consumer.messages_from(start, self._source.prefetch)
        if not messages:
            if consumer.error is not None:
                raise consumer.error
            return None
        if self._source.correlation_ids:
            last = self._unsettled[-1][0] if self._unsettled else -1
            self._unsettled += [(m.number, self._id(m)) for m in messages if m.number > last]
        return ReadLimit(end_position=messages[-1].number + 1, payload=messages, split_ends=False)

    def _begin(self, start: int) -> QueueConsumer:
        """What was read and not committed is not known: it comes again, and is read then."""
        self._unsettled = [(number, id_) for number, id_ in self._unsettled if number < start]
        self._known = {id_ for _, id_ in self._unsettled}
        consumer = self._source.consumer(self._known.__contains__)
        consumer.start(start)
        self._consumer = consumer
        return consumer

    def _id(self, message: Message) -> str:
        if message.correlation_id is None:
            raise MalformedRecordError(
                "a message has no correlation id, and the source needs them to know what comes again",
                where=self._source.where,
                do="set them where messages are published, or read without them, at least once",
            )
        return message.correlation_id

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return now_ms + _POLL_MS

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        if self._consumer is not None:
            self._consumer.committed(positions.get(_WHOLE.split_id) or 0)

    def snapshot(self) -> Any:
        """Those of epochs that may fail yet are in it too; the committed position tells them apart."""
        if not self._discovered:
            return None
        if self._consumer is not None:
            settled = self._consumer.settled
            self._unsettled = [(number, id_) for number, id_ in self._unsettled if number >= settled]
        return tuple(self._unsettled)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.stop()


class _QueueReader(SourceReader):
    """Decodes the messages that the plan brings."""

    def __init__(self, source: HeldQueueSource) -> None:
        self._source = source
        self._decode: Decode | None = None
        self._poison: Callable[[BadRecord], None] | None = None

    def open(self, context: ReaderContext) -> None:
        self._poison = context.poison

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        if self._decode is None:
            self._decode = self._source.decoder()
        messages: list[Message] = limit.payload or []
        for start in range(0, len(messages), _BATCH):
            some = messages[start : start + _BATCH]
            values: list[Any] = []
            times: list[int] | None = None if any(m.timestamp_ms is None for m in some) else []
            for message in some:
                records = self._records(message)
                values += records
                if times is not None:
                    times += [message.timestamp_ms or 0] * len(records)
            yield SourceBatch(values, times, some[-1].number + 1)

    def _records(self, message: Message) -> Sequence[Any]:
        assert self._decode is not None, "read makes it"
        try:
            return self._source.records(self._decode, message)
        except ValueError as error:
            if self._poison is None:
                raise self._unreadable(message, error) from error
            queue, place = message.topic or self._source.queue, str(message.number)
            self._poison(BadRecord(message.body, error, queue, place, message.timestamp_ms))
            return ()

    def _unreadable(self, message: Message, error: ValueError) -> MalformedRecordError:
        where = f"{self._source.where}, message {message.number}"
        if isinstance(error, MalformedRecordError):
            error.where = where
            return error
        return MalformedRecordError(f"a message cannot be read: {error}", where=where)
