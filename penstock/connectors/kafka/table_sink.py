"""Rows of a table to messages, from columns.

    kafka           every row, or every change in a format of changes, is a message
    upsert-kafka    a row that comes is a message with its key, one that goes a message without a value

An update comes as two changes, the row before and the row after. Of an `upsert-kafka` table the row before says
nothing, unless no row after follows in the epoch: then the row is gone, and a message without a value says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import ValidationError
from penstock.connectors.kafka.fields import MessagePart
from penstock.connectors.kafka.producer import shared_producer
from penstock.connectors.kafka.records import ANY_PARTITION, NOW, Fields, Headers
from penstock.connectors.kafka.sink import KafkaWriting, MessageTarget
from penstock.connectors.sink import ArrowWriter, Committer, Sink, WriterContext
from penstock.formats.arrow_rows import ArrowToRows
from penstock.formats.base import DELETE, INSERT, UPDATE_BEFORE
from penstock.formats.column_texts import column_encoder

_ROWS_AT_ONCE = 8192

Encode = Callable[[pa.RecordBatch, Sequence[int]], list[bytes | None]]
"""Rows and their kinds to bytes."""


@dataclass(frozen=True)
class KafkaTableSink(Sink):
    """How rows are written; picklable.

    Attributes:
        row_type: The columns that arrive, physical ones and metadata.
        places: Where the physical columns are among them.
        metadata: Where the metadata are, by key.
        topics, topic_pattern: The topic, or those that the metadata `topic` may choose.
        buffer_rows: Of so many changes only the last of each key is sent; 0: all of them.
    """

    writing: KafkaWriting
    row_type: RowType
    key: MessagePart | None
    value: MessagePart
    places: tuple[int, ...]
    metadata: Mapping[str, int] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    changelog: bool = False
    partitioner: str = "default"
    upserts: bool = False
    buffer_rows: int = 0

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> KafkaTableWriter:
        return KafkaTableWriter(self, self.writing.target(context, restored), context)

    def create_committer(self) -> Committer | None:
        return self.writing.committer()


class KafkaTableWriter(ArrowWriter):
    """Writes an epoch's changes."""

    def __init__(self, sink: KafkaTableSink, target: MessageTarget, context: WriterContext) -> None:
        self._sink = sink
        self._target = target
        self._width = len(sink.row_type.fields)
        self._key = encoder(sink.key, sink) if sink.key else None
        self._value = encoder(sink.value, sink)
        self._topic_of = _topics(sink)
        self._partition_of = _partitions(sink, context)
        self._latest = _LatestChanges(sink.buffer_rows) if sink.upserts else None

    def write_arrow(self, table: pa.Table) -> None:
        for batch in table.combine_chunks().to_batches(max_chunksize=_ROWS_AT_ONCE):
            if not batch.num_rows:
                continue
            kinds = (
                batch.column(self._width).to_pylist() if self._sink.changelog else [INSERT] * batch.num_rows
            )
            messages = self._messages(batch, kinds)
            self._target.send(messages if self._latest is None else self._latest.reduced(kinds, messages))

    def _messages(self, batch: pa.RecordBatch, kinds: Sequence[int]) -> list[Fields]:
        keys = self._key(batch, kinds) if self._key else [None] * batch.num_rows
        values = self._value(batch, kinds)
        if self._sink.upserts:
            goes = (DELETE, UPDATE_BEFORE)
            values = [None if kind in goes else value for kind, value in zip(kinds, values, strict=True)]
        topics = self._topic_of(batch)
        partitions = {topic: self._partition_of(topic) for topic in set(topics)}
        places = [partitions[topic] for topic in topics]
        columns = (topics, values, keys, self._times(batch), self._headers(batch), places)
        return list(zip(*columns, strict=True))

    def _times(self, batch: pa.RecordBatch) -> Sequence[int]:
        place = self._sink.metadata.get("timestamp")
        if place is None:
            return [NOW] * batch.num_rows
        column = batch.column(place)
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
        return [NOW if m is None else m // 1000 for m in micros]

    def _headers(self, batch: pa.RecordBatch) -> Sequence[Headers | None]:
        place = self._sink.metadata.get("headers")
        if place is None:
            return [None] * batch.num_rows
        found: list[Headers | None] = batch.column(place).to_pylist()
        return [headers or None for headers in found]

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        if self._latest is not None:
            self._target.send(self._latest.rest())
        return self._target.finish(end_of_input)

    def snapshot(self) -> Any:
        return self._target.lineage


class _LatestChanges:
    """Changes by key: what a later one makes superfluous is not sent.

    Without a buffer only halves of updates wait here, for the other half. With one, all changes do, until there are
    so many keys. What waits at the end of the epoch is sent then: nothing is ever held back for longer.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[bytes | None, Fields] = {}

    def reduced(self, kinds: Sequence[int], messages: Sequence[Fields]) -> Iterator[Fields]:
        waiting = self._waiting
        for kind, message in zip(kinds, messages, strict=True):
            _, _, key, _, _, _ = message
            waiting.pop(key, None)
            if self._most or kind == UPDATE_BEFORE:
                waiting[key] = message
            else:
                yield message
            if self._most and len(waiting) >= self._most:
                yield from self.rest()

    def rest(self) -> Sequence[Fields]:
        rest = list(self._waiting.values())
        self._waiting.clear()
        return rest


def encoder(part: MessagePart, sink: KafkaTableSink) -> Encode:
    """How the columns of a key or value become bytes: many rows at once where the format can do that."""
    columns = [sink.places[place] for place in part.places]
    changes = part.format.changelog and sink.changelog
    many = None if changes else column_encoder(part.format_name, part.row_type, part.values)
    if many is not None:
        return lambda batch, kinds: (
            many.records(pa.Table.from_batches([batch]).select(columns))
            .cast(pa.binary())
            .to_numpy(zero_copy_only=False)
            .tolist()
        )
    one, to_rows = part.encoder(), ArrowToRows(part.row_type)
    empty_is_null = part.format_name == "raw"

    def encode(batch: pa.RecordBatch, kinds: Sequence[int]) -> list[bytes | None]:
        rows = to_rows.rows(batch.select(columns))
        if empty_is_null:
            return [None if row[0] is None else one.encode(INSERT, row) for row in rows]
        return [one.encode(k if changes else INSERT, row) for k, row in zip(kinds, rows, strict=True)]

    return encode


def _topics(sink: KafkaTableSink) -> Callable[[pa.RecordBatch], Sequence[str]]:
    place = sink.metadata.get("topic")
    if place is None:
        [topic] = sink.topics
        return lambda batch: [topic] * batch.num_rows
    pattern = re.compile(sink.topic_pattern) if sink.topic_pattern else None
    allowed = set(sink.topics)

    def chosen(batch: pa.RecordBatch) -> Sequence[str]:
        names: list[str] = batch.column(place).to_pylist()
        for name in set(names):
            if name is None or not (pattern.fullmatch(name) if pattern else name in allowed):
                raise ValidationError(
                    f"the topic of a row is {name!r}, which the table does not allow",
                    do="add it to 'topic', or correct the row",
                )
        return names

    return chosen


def _partitions(sink: KafkaTableSink, context: WriterContext) -> Callable[[str], int]:
    if sink.partitioner != "fixed":
        return lambda topic: ANY_PARTITION
    chosen: dict[str, int] = {}

    def partition(topic: str) -> int:
        if topic not in chosen:
            there = shared_producer(sink.writing.cluster).partitions_of(topic)
            chosen[topic] = context.subtask_index % there
        return chosen[topic]

    return partition
