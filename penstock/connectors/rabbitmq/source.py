"""`RabbitSource`: the messages of a queue, acknowledged when their epoch is committed.

Without correlation ids it is at least once: after a failure messages come again whose acknowledgement the broker did
not get. With them it is exactly once, as in Flink: ids of messages that are committed and not settled are part of
the checkpoint, and one that comes again is acknowledged and left out. Whoever publishes must give each message an id
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.rabbitmq.client import RabbitAddress, pika_library
from penstock.connectors.rabbitmq.consumer import Consumer, Message
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

__all__ = ["Decode", "RabbitSource"]

Decode = Callable[[bytes], Sequence[Any]]
"""A message to its records: one, none, or several."""

DEFAULT_PREFETCH = 10_000
_BATCH = 1_000
_POLL_MS = 20
_WHOLE = SourceSplit("queue")


@dataclass(frozen=True)
class RabbitSource(Source):
    """Reads a queue.

    Attributes:
        decoder: Makes what turns messages into records; called in tasks.
        correlation_ids: Whether messages have ids, by which one that comes again is known.
        prefetch: Messages that may be under way: not acknowledged, because not committed yet.
    """

    address: RabbitAddress
    queue: str
    decoder: Callable[[], Decode]
    correlation_ids: bool = False
    prefetch: int = DEFAULT_PREFETCH
    type_info: TypeInformation | None = None

    def __post_init__(self) -> None:
        pika_library()
        if not 0 < self.prefetch <= 65_535:
            raise ValidationError(f"the prefetch count is {self.prefetch}", do="use a number from 1 to 65535")

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _QueueEnumerator(self, restored)

    def create_reader(self) -> SourceReader:
        return _QueueReader(self)

    def produced_type(self) -> Any:
        return self.type_info


class _QueueEnumerator(SplitEnumerator):
    """Positions are numbers of messages. Its state are (number, id) of those that are not settled."""

    def __init__(self, source: RabbitSource, restored: Any) -> None:
        self._source = source
        self._discovered = restored is not None
        self._unsettled: list[tuple[int, str]] = list(restored or ())
        self._known: set[str] = set()
        self._consumer: Consumer | None = None

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

    def _begin(self, start: int) -> Consumer:
        """What was read and not committed is not known: it comes again, and is read then."""
        self._unsettled = [(number, id_) for number, id_ in self._unsettled if number < start]
        self._known = {id_ for _, id_ in self._unsettled}
        source = self._source
        consumer = Consumer(source.address, source.queue, source.prefetch, self._known.__contains__)
        consumer.start(start)
        self._consumer = consumer
        return consumer

    def _id(self, message: Message) -> str:
        if message.correlation_id is None:
            raise MalformedRecordError(
                "a message has no correlation id, and the source needs them to know what comes again",
                where=f"queue '{self._source.queue}' of RabbitMQ at {self._source.address.shown}",
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

    def __init__(self, source: RabbitSource) -> None:
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
            return self._decode(message.body)
        except ValueError as error:
            if self._poison is None:
                raise self._unreadable(message, error) from error
            place = str(message.number)
            self._poison(BadRecord(message.body, error, self._source.queue, place, message.timestamp_ms))
            return ()

    def _unreadable(self, message: Message, error: ValueError) -> MalformedRecordError:
        where = f"{self._where}, message {message.number}"
        if isinstance(error, MalformedRecordError):
            error.where = where
            return error
        return MalformedRecordError(f"a message cannot be read: {error}", where=where)

    @property
    def _where(self) -> str:
        return f"queue '{self._source.queue}' of RabbitMQ at {self._source.address.shown}"
