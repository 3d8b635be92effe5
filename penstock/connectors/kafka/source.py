"""`KafkaSource`: records of topics, each with the time at which its message was made.

    driver   KafkaEnumerator    partitions, and the offset up to which an epoch reads each of them
    task     KafkaReader        messages to records, by a deserialization schema

Exactly once: positions are offsets, and they are in the checkpoint. Offsets are committed to the group after that,
for people who watch a group's lag and for jobs that start from `committed_offsets`; this job never looks at them
again.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.common.errors import MalformedRecordError, PenstockError, ValidationError
from penstock.common.serialization import ByteArraySchema, DeserializationSchema, SimpleStringSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.kafka.client import KafkaCluster, confluent
from penstock.connectors.kafka.cursor import Messages, PartitionCursor
from penstock.connectors.kafka.enumerator import KafkaEnumerator, KafkaSplit
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.subscription import Subscription
from penstock.connectors.source import (
    BadRecord,
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
)

if TYPE_CHECKING:
    from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

__all__ = ["KafkaReader", "KafkaReading", "KafkaSource"]

T = TypeVar("T")

_DISCOVERY_MS = 300_000
_OPEN_CURSORS = 16


@dataclass(frozen=True)
class KafkaReading:
    """What is read and how; the same for programs and tables.

    Attributes:
        stopping: Where partitions end; None: never.
        bounded: The source ends there, and no partitions are looked for later.
    """

    cluster: KafkaCluster
    subscription: Subscription
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None = None
    bounded: bool = False

    def __post_init__(self) -> None:
        confluent()
        for where in (self.starting, self.stopping):
            if where is not None and where.needs_group and self.group is None:
                raise ValidationError(
                    "committed offsets are those of a group, and there is no group", do="set 'group.id'"
                )
        if self.group is None and self._property("commit.offsets.on.checkpoint") == "true":
            raise ValidationError("offsets can only be committed to a group", do="set 'group.id'")

    def _property(self, name: str) -> str | None:
        return self.cluster.properties.get(name)

    @property
    def group(self) -> str | None:
        return self._property("group.id")

    @property
    def commits(self) -> bool:
        return self._property("commit.offsets.on.checkpoint") != "false"

    @property
    def discovery_ms(self) -> int | None:
        """How often partitions are looked for; None: only at the start."""
        interval = int(self._property("partition.discovery.interval.ms") or _DISCOVERY_MS)
        return None if self.bounded or interval <= 0 else interval

    @property
    def reset(self) -> KafkaOffsetResetStrategy:
        return self.starting.reset

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def client_id(self) -> str:
        prefix = self._property("client.id.prefix") or self.group or f"KafkaSource-{random.getrandbits(32)}"
        return prefix


class KafkaSource(Source):
    """Reads topics; programs make one with `KafkaSource.builder()`."""

    def __init__(self, reading: KafkaReading, deserializer: DeserializationSchema) -> None:
        self.reading = reading
        self.deserializer = deserializer

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begins a source; it needs servers, topics and a deserializer."""
        from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

        return KafkaSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        """Bounded if an end was set."""
        return self.reading.boundedness

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> KafkaEnumerator:
        return KafkaEnumerator(self.reading, restored)

    def create_reader(self) -> KafkaReader:
        return KafkaReader(self.reading, self.deserializer)

    def produced_type(self) -> TypeInformation | None:
        return self.deserializer.get_produced_type()


class Cursors:
    """The partitions of one reader: those read last keep their connection and what they have fetched ahead."""

    def __init__(self, reading: KafkaReading) -> None:
        self._reading = reading
        self._open: OrderedDict[str, PartitionCursor] = OrderedDict()
        self._client_id = reading.client_id

    def read(
        self,
        split: SourceSplit,
        position: Any,
        limit: ReadLimit,
        decode: Callable[[PartitionCursor, Messages], T],
        count: Callable[[T], int],
    ) -> Iterator[tuple[T, int]]:
        """What messages of a split are decoded to, and the position after them.

        It ends at the limit's end, or with enough records. Messages are not records: one may hold none, or several.
        Whoever reads would take an end after enough messages for the split's.
        """
        assert isinstance(split, KafkaSplit)
        cursor, most, taken = self._of(split), limit.max_records, 0

        def wanted() -> int | None:
            return None if most is None else most - taken

        start = split.start if position is None else position
        for messages, after in cursor.read(start, limit.end_position, wanted):
            found = decode(cursor, messages)
            taken += count(found)
            yield found, after

    def _of(self, split: KafkaSplit) -> PartitionCursor:
        found = self._open.pop(split.split_id, None)
        if found is None:
            if len(self._open) >= _OPEN_CURSORS:
                self._open.popitem(last=False)[1].close()
            reading = self._reading
            found = PartitionCursor(
                reading.cluster, split.topic, split.partition, reading.reset, self._client_id
            )
        self._open[split.split_id] = found
        return found

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


class KafkaReader(SourceReader):
    """Messages to records. A message without a value (a tombstone) holds none."""

    def __init__(self, reading: KafkaReading, deserializer: DeserializationSchema) -> None:
        self._reading = reading
        self._deserializer = deserializer
        self._cursors: Cursors | None = None

    def open(self, context: ReaderContext) -> None:
        self._cursors = Cursors(self._reading)
        self._poison = context.poison
        self._deserializer.open()

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert self._cursors is not None, "open comes first"
        decode = _decoder(self._deserializer, self._poison)
        read = self._cursors.read(split, position, limit, decode, lambda found: len(found[0]))
        for (values, timestamps), after in read:
            yield SourceBatch(values, timestamps, after)

    def close(self) -> None:
        if self._cursors is not None:
            self._cursors.close()


Poison = Callable[[BadRecord], None] | None
Decode = Callable[[PartitionCursor, Messages], tuple[list[Any], list[int]]]


def _decoder(schema: DeserializationSchema, poison: Poison) -> Decode:
    if type(schema) in (SimpleStringSchema, ByteArraySchema):  # every message is one record
        read = schema.deserialize
        return lambda cursor, messages: _one_each(read, messages)
    return lambda cursor, messages: _several(schema, poison, cursor, messages)


def _one_each(read: Callable[[bytes], Any], messages: Messages) -> tuple[list[Any], list[int]]:
    full = [m for m in messages if m.value() is not None]
    return [read(m.value()) for m in full], [m.timestamp()[1] for m in full]


def _several(
    schema: DeserializationSchema, poison: Poison, cursor: PartitionCursor, messages: Messages
) -> tuple[list[Any], list[int]]:
    values: list[Any] = []
    timestamps: list[int] = []
    for message in messages:
        data = message.value()
        if data is None:
            continue
        try:
            found = list(schema.deserialize_all(data))
        except Exception as error:
            if poison is None:
                raise unreadable(cursor, message, error) from error
            poison(bad_record(message, error))
            continue
        values += found
        timestamps += [message.timestamp()[1]] * len(found)
    return values, timestamps


def bad_record(message: Any, error: Exception) -> BadRecord:
    split, offset = f"{message.topic()}-{message.partition()}", str(message.offset())
    return BadRecord(message.value() or b"", error, split, offset, message.timestamp()[1])


def unreadable(cursor: PartitionCursor, message: Any, error: Exception) -> PenstockError:
    """A message that its schema refuses: names topic, partition and offset."""
    what, do = str(error), "correct the message, or use a schema that passes over such messages"
    if isinstance(error, PenstockError):
        what, do = error.what, error.do or do
    where = f"offset {message.offset()}, {cursor.where}"
    return MalformedRecordError(f"a message cannot be read: {what}", where=where, do=do)
