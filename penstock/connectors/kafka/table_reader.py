"""Messages to the rows of a table, in columns.

A batch of messages is decoded as one block where the format can do that and it is certain to give what its codec
gives (see `formats/json_columns.py`); otherwise message by message. Metadata are made once per batch, in columns,
too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import BinaryType, CharType, RowType, VarBinaryType, VarCharType
from penstock.common.errors import MalformedRecordError
from penstock.connectors.kafka.cursor import Messages, PartitionCursor
from penstock.connectors.kafka.enumerator import KafkaEnumerator
from penstock.connectors.kafka.fields import MessagePart
from penstock.connectors.kafka.source import Cursors, KafkaReading, Poison, bad_record, unreadable
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceSplit,
)
from penstock.formats.arrow_rows import RowsToArrow
from penstock.formats.base import DELETE, UPDATE_AFTER, RecordContext, Rows
from penstock.formats.csv_columns import CsvColumns
from penstock.formats.json_columns import JsonColumns
from penstock.formats.text_columns import NotCertain

_TIMES = {0: "NoTimestampType", 1: "CreateTime", 2: "LogAppendTime"}

Columns = dict[int, pa.Array]
"""Columns by their place among the table's physical ones."""


@dataclass(frozen=True)
class KafkaScan:
    """How messages become rows of `row_type`: the physical columns, metadata, and the kind of a change.

    Attributes:
        metadata: The metadata that are asked for, in the order of their columns.
        upserts: A message without a value deletes the row of its key, every other one replaces it.
    """

    reading: KafkaReading
    row_type: RowType
    width: int
    key: MessagePart | None
    value: MessagePart
    metadata: tuple[str, ...] = ()
    with_kind: bool = False
    upserts: bool = False


class KafkaTableSource(Source):
    """The messages of a table's topics, as rows."""

    def __init__(self, scan: KafkaScan) -> None:
        self.scan = scan

    @property
    def boundedness(self) -> Boundedness:
        return self.scan.reading.boundedness

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> KafkaEnumerator:
        return KafkaEnumerator(self.scan.reading, restored)

    def create_reader(self) -> KafkaTableReader:
        return KafkaTableReader(self.scan)


class KafkaTableReader(ArrowReader):
    """Reads partitions, stopping after any message."""

    def __init__(self, scan: KafkaScan) -> None:
        self.row_type = scan.row_type
        self._scan = scan
        self._cursors: Cursors | None = None

    def open(self, context: ReaderContext) -> None:
        self._cursors = Cursors(self._scan.reading)
        self._decode = _BatchDecoder(self._scan, context.poison)

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert self._cursors is not None, "open comes first"
        read = self._cursors.read(split, position, limit, self._decode, lambda batch: int(batch.num_rows))
        for batch, after in read:
            yield ArrowBatch(batch, after)

    def close(self) -> None:
        if self._cursors is not None:
            self._cursors.close()


class _BatchDecoder:
    """Messages of one partition to a batch."""

    def __init__(self, scan: KafkaScan, poison: Poison = None) -> None:
        self._scan = scan
        self._to_arrow = RowsToArrow(scan.row_type)
        self._rows = _RowDecoder(scan, poison)
        self._value = None if scan.with_kind and not scan.upserts else block_decoder(scan.value)
        self._key = block_decoder(scan.key) if scan.key else None

    def __call__(self, cursor: PartitionCursor, messages: Messages) -> pa.RecordBatch:
        scan, to_arrow = self._scan, self._to_arrow
        try:
            columns = self._blocks(messages)
            chosen, kinds = None, [UPDATE_AFTER] * len(messages)  # of upserts; others have no kinds here
        except NotCertain:
            rows, chosen, kinds = self._rows(cursor, messages)
            by_column = list(zip(*rows, strict=True)) if rows else [()] * scan.width
            columns = {i: to_arrow.column(i, by_column[i]) for i in range(scan.width)}
        count = len(messages) if chosen is None else len(chosen)
        out = [
            columns[i]
            if i in columns
            else to_arrow.constant(i, None, count)
            if count
            else to_arrow.column(i, ())
            for i in range(scan.width)
        ]
        for i, name in enumerate(scan.metadata, scan.width):
            made = _METADATA[name](messages, functools.partial(to_arrow.column, i))
            out.append(made if chosen is None else made.take(pa.array(chosen, pa.int64())))
        if scan.with_kind:
            out.append(pa.array(kinds, pa.int8()))
        return to_arrow.of_columns(out)

    def _blocks(self, messages: Messages) -> Columns:
        scan = self._scan
        if self._value is None or (scan.key is not None and self._key is None):
            raise NotCertain
        columns: Columns = {}
        if self._key is not None and scan.key is not None:
            found = self._key([m.key() for m in messages])
            columns.update(zip(scan.key.places, found, strict=True))
        values = [m.value() for m in messages]
        if scan.upserts and None in values:
            raise NotCertain  # deletions have no columns but the key's
        found = self._value(values)
        columns.update(zip(scan.value.places, found, strict=True))
        return columns


BlockDecoder = Callable[[Sequence[bytes | None]], Sequence[pa.Array]]


def block_decoder(part: MessagePart) -> BlockDecoder | None:
    """How many messages of a format are decoded at once; None where only one at a time can be.

    What it gives raises `NotCertain` for messages that only the codec can read.
    """
    options = part.values
    if part.format_name == "json" and JsonColumns.reads(part.row_type, options):
        return _json_blocks(JsonColumns(part.row_type, options))
    if part.format_name == "csv" and CsvColumns.reads(options) and len(part.row_type.fields) > 1:
        native = CsvColumns(part.row_type, options, None, RowsToArrow(part.row_type).column)
        return _csv_blocks(native)
    if part.format_name == "raw":
        return _raw_blocks(part)
    return None


def _joined(messages: Sequence[bytes | None]) -> bytes:
    if not messages or not all(messages):
        raise NotCertain
    return b"\n".join(messages) + b"\n"  # type: ignore[arg-type]


def _json_blocks(native: JsonColumns) -> BlockDecoder:
    def decode(messages: Sequence[bytes | None]) -> Sequence[pa.Array]:
        found = native.columns(_joined(messages))
        if len(found[0]) != len(messages):
            raise NotCertain
        return found

    return decode


def _csv_blocks(native: CsvColumns) -> BlockDecoder:
    def decode(messages: Sequence[bytes | None]) -> Sequence[pa.Array]:
        block = _joined(messages)
        if block.count(b"\n") != len(messages) or b"\r" in block or not native.well_quoted(block):
            raise NotCertain
        found = native.columns(block)
        if len(found[0]) != len(messages):
            raise NotCertain
        return found

    return decode


def _raw_blocks(part: MessagePart) -> BlockDecoder | None:
    data_type = part.row_type.fields[0].data_type
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return lambda messages: [pa.array(messages, pa.binary())]
    if not isinstance(data_type, (CharType, VarCharType)) or part.values["charset"] != "utf-8":
        return None

    def decode(messages: Sequence[bytes | None]) -> Sequence[pa.Array]:
        try:
            return [pa.array(messages, pa.binary()).cast(pa.string())]
        except pa.ArrowInvalid:
            raise NotCertain from None

    return decode


class _RowDecoder:
    """Messages one by one: rows, which message each came from, and what kind of change each is."""

    def __init__(self, scan: KafkaScan, poison: Poison) -> None:
        self._scan = scan
        self._poison = poison
        self._key = scan.key.decoder() if scan.key else None
        self._value = scan.value.decoder()
        self._context = RecordContext("message")

    def __call__(
        self, cursor: PartitionCursor, messages: Messages
    ) -> tuple[list[tuple[Any, ...]], list[int], list[int]]:
        scan = self._scan
        rows: list[tuple[Any, ...]] = []
        chosen: list[int] = []
        kinds: list[int] = []
        for i, message in enumerate(messages):
            try:
                keys, changes = self._decoded(message)
            except MalformedRecordError as error:
                if self._poison is None:
                    raise unreadable(cursor, message, error) from None
                self._poison(bad_record(message, error))
                continue
            for kind, value in changes:
                for key in keys:
                    row: list[Any] = [None] * scan.width
                    if key is not None and scan.key is not None:
                        _put(row, scan.key.places, key)
                    if value is not None:
                        _put(row, scan.value.places, value)
                    rows.append(tuple(row))
                    chosen.append(i)
                    kinds.append(kind)
        return rows, chosen, kinds

    def _decoded(self, message: Any) -> tuple[list[Any], list[tuple[int, Any]]]:
        """Keys and changes of a message; a row is made of each pair. No key: as Flink has it, no row."""
        keys: list[Any] = [None]
        if self._key is not None and self._scan.key is not None:
            keys = [row for _, row in self._each(self._key, self._scan.key, message.key())]
        value = message.value()
        if not self._scan.upserts:
            return keys, list(self._each(self._value, self._scan.value, value))
        if value is None:
            return keys, [(DELETE, None)]
        return keys, [(UPDATE_AFTER, row) for _, row in self._value.decode(value, self._context)]

    def _each(self, decoder: Any, part: MessagePart, data: bytes | None) -> Rows:
        if data is None:
            return [(0, (None,))] if part.format_name == "raw" else []
        rows: Rows = decoder.decode(data, self._context)
        return rows


def _put(row: list[Any], places: Sequence[int], values: Sequence[Any]) -> None:
    for place, value in zip(places, values, strict=True):
        row[place] = value


MakeColumn = Callable[[Sequence[Any]], pa.Array]


def _timestamps(messages: Messages, make: MakeColumn) -> pa.Array:
    millis = pa.array([m.timestamp()[1] for m in messages], pa.int64())
    return millis.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))


def _leader_epochs(messages: Messages, make: MakeColumn) -> pa.Array:
    epochs = (m.leader_epoch() for m in messages)
    return make([None if epoch is None or epoch < 0 else epoch for epoch in epochs])


_METADATA: dict[str, Callable[[Messages, MakeColumn], pa.Array]] = {
    "topic": lambda messages, make: make([m.topic() for m in messages]),
    "partition": lambda messages, make: make([m.partition() for m in messages]),
    "headers": lambda messages, make: make([dict(m.headers() or ()) for m in messages]),
    "leader-epoch": _leader_epochs,
    "offset": lambda messages, make: make([m.offset() for m in messages]),
    "timestamp": _timestamps,
    "timestamp-type": lambda messages, make: make([_TIMES[m.timestamp()[0]] for m in messages]),
}
