"""Avro messages whose schema is in a registry: `avro-confluent`, and changes in `debezium-avro-confluent`.

A message is a zero byte, the id of its schema in four bytes, and the record in Avro's binary form. It is read with
the schema it was written with, and fields are found by name: a column that the writer did not have is NULL, and a
field that the table does not have is passed over. Written, the schema of the table's columns is registered below
the subject.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import RowType
from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.formats.avro import avro_schema, fastavro_module, from_avro, to_avro
from penstock.formats.base import INSERT, UPDATE_AFTER, BadField, Format, RecordContext, Rows
from penstock.formats.columnar import check_avro
from penstock.formats.debezium_json import changes_of
from penstock.formats.schema_registry import REGISTRY_OPTIONS, SchemaRegistry

_MAGIC = 0
_HEAD = 5


class _Reader:
    """Messages to records, as dicts."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._avro = fastavro_module()
        self._registry = SchemaRegistry(options)
        self._parsed: dict[int, Any] = {}

    def read(self, data: bytes) -> Any:
        if len(data) < _HEAD or data[0] != _MAGIC:
            raise BadField("it does not begin with a zero byte and the id of a schema")
        schema_id = int.from_bytes(data[1:_HEAD], "big")
        if schema_id not in self._parsed:
            self._parsed[schema_id] = self._avro.parse_schema(self._registry.schema(schema_id))
        return self._avro.schemaless_reader(io.BytesIO(data[_HEAD:]), self._parsed[schema_id])


class _Writer:
    """Records to messages."""

    def __init__(self, schema: Any, options: Mapping[str, Any]) -> None:
        if not options["subject"]:
            raise ValidationError("a schema registry needs a 'subject' to write below")
        self._avro = fastavro_module()
        self._subject = options["subject"]
        self._schema = json.loads(options["schema"]) if options["schema"] else schema
        self._parsed = self._avro.parse_schema(json.loads(json.dumps(self._schema)))
        self._registry = SchemaRegistry(options)
        self._head: bytes | None = None

    def write(self, record: Any) -> bytes:
        if self._head is None:
            schema_id = self._registry.register(self._subject, self._schema)
            self._head = bytes([_MAGIC]) + schema_id.to_bytes(4, "big")
        stream = io.BytesIO()
        stream.write(self._head)
        self._avro.schemaless_writer(stream, self._parsed, record)
        return stream.getvalue()


_ERRORS = (ValueError, EOFError, KeyError, IndexError, TypeError, OverflowError)


class AvroConfluentDecoder:
    """Records as rows that come."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._reader = _Reader(options)
        self._convert = from_avro(row_type)

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        data = record.encode() if isinstance(record, str) else record
        try:
            return self._rows(data)
        except _ERRORS as error:
            raise _unreadable(error, data, context) from None

    def _rows(self, data: bytes) -> Rows:
        return [(INSERT, self._convert(self._reader.read(data)))]


class AvroConfluentEncoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._writer = _Writer(_named(avro_schema(row_type)), options)
        self._convert = to_avro(row_type)

    def encode(self, kind: int, row: Any) -> bytes:
        return self._writer.write(self._convert(row))


class DebeziumAvroDecoder(AvroConfluentDecoder):
    """Records with `before`, `after` and `op`, as of debezium-json; an empty one is a tombstone."""

    def _rows(self, data: bytes) -> Rows:
        return changes_of(self._reader.read(data), self._convert) if data else []


class DebeziumAvroEncoder:
    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        row = avro_schema(row_type, "row")
        fields = [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "row"], "default": None},
            {"name": "op", "type": ["null", "string"], "default": None},
        ]
        self._writer = _Writer({"type": "record", "name": "record", "fields": fields}, options)
        self._convert = to_avro(row_type)

    def encode(self, kind: int, row: Any) -> bytes:
        comes = kind in (INSERT, UPDATE_AFTER)
        values = self._convert(row)
        before, after = (None, values) if comes else (values, None)
        return self._writer.write({"before": before, "after": after, "op": "c" if comes else "d"})


def _unreadable(error: Exception, data: bytes, context: RecordContext) -> MalformedRecordError:
    return MalformedRecordError(
        f"avro record cannot be read: {str(error) or 'it ends too early'}; it has {len(data)} bytes",
        where=context.where(),
        do="check that the messages were written with a schema registry, and with this one",
    )


def _named(schema: dict[str, Any]) -> dict[str, Any]:
    """As Flink calls it, so that both are one schema of a subject."""
    return {**schema, "namespace": "org.apache.flink.avro.generated"}


AVRO_CONFLUENT = Format(
    name="avro-confluent",
    options=REGISTRY_OPTIONS,
    decoder=AvroConfluentDecoder,
    encoder=AvroConfluentEncoder,
    check=check_avro,
    framing="message",
)
DEBEZIUM_AVRO_CONFLUENT = Format(
    name="debezium-avro-confluent",
    options=REGISTRY_OPTIONS,
    decoder=DebeziumAvroDecoder,
    encoder=DebeziumAvroEncoder,
    check=check_avro,
    changelog=True,
    framing="message",
)
