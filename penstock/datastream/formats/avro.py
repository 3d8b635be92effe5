"""Avro: object files, and schemas of messages. Generic records are dicts."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import DataType, DataTypes, RowType
from penstock.common.errors import MalformedRecordError, NotSupportedError, ValidationError
from penstock.common.io import InputFormat
from penstock.common.serialization import BulkWriterFactory, DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from penstock.connectors.file.avro import AvroFileFormat, AvroWriterFactory, fastavro, parse_schema
from penstock.connectors.file.source import FileSource
from penstock.connectors.row_types import row_maker, type_info_of, value_unmaker
from penstock.datastream.formats.avro_columns import branches, is_null

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]


class AvroSchema:
    """A parsed schema; `str()` gives it back as JSON."""

    def __init__(self, j_schema: Any) -> None:
        self.text = j_schema if isinstance(j_schema, str) else json.dumps(j_schema)
        self.parsed = parse_schema(self.text)

    def __str__(self) -> str:
        return self.text

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema that a JSON text declares."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema that a file of JSON declares."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema(file.read())


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """The type of Avro records, which are dicts here."""

    def __init__(self, schema: AvroSchema) -> None:
        self.schema = schema


class AvroInputFormat(InputFormat):
    """Flink 1.x's way to read Avro files, for `create_input`: a file, or the files of a folder, as records."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self.path = path
        self.schema = schema

    def get_produced_type(self) -> TypeInformation:
        """Dicts with the fields of the schema."""
        return GenericRecordAvroTypeInfo(self.schema)

    def to_source(self) -> FileSource:
        """What reads the files."""
        return FileSource.for_bulk_file_format(AvroFileFormat(self.schema.parsed), self.path).build()


class AvroBulkWriters:
    """Writes Avro object files with `FileSink.for_bulk_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Writes dicts into Avro files, by this schema."""
        return AvroWriterFactory(schema.parsed)


_SIMPLE = {
    "string": DataTypes.STRING,
    "boolean": DataTypes.BOOLEAN,
    "int": DataTypes.INT,
    "long": DataTypes.BIGINT,
    "float": DataTypes.FLOAT,
    "double": DataTypes.DOUBLE,
    "bytes": DataTypes.BYTES,
    "fixed": DataTypes.BYTES,
    "enum": DataTypes.STRING,
}

_LOGICAL = {
    "date": DataTypes.DATE(),
    "time-millis": DataTypes.TIME(3),
    "time-micros": DataTypes.TIME(6),
    "timestamp-millis": DataTypes.TIMESTAMP_LTZ(3),
    "timestamp-micros": DataTypes.TIMESTAMP_LTZ(6),
    "local-timestamp-millis": DataTypes.TIMESTAMP(3),
    "local-timestamp-micros": DataTypes.TIMESTAMP(6),
}


def row_type_of_schema(schema: AvroSchema, grouped_unions: bool = False) -> RowType:
    """The row type of a record schema.

    Args:
        grouped_unions: Whether a union of several types is a row with a member for each, as files of columns have it.
    """
    data_type = _data_type(schema.parsed, grouped_unions)
    if not isinstance(data_type, RowType):
        raise ValidationError(f"an Avro record is needed, got {schema}")
    return data_type


def _data_type(schema: Any, grouped: bool) -> DataType:
    if isinstance(schema, list):
        kinds = branches(schema)
        if len(kinds) == 1:
            return _data_type(kinds[0], grouped)
        if not grouped:
            raise NotSupportedError(f"the Avro union {schema}", "a column has one type")
        members = [_data_type(kind, grouped) for kind in kinds]
        return DataTypes.ROW([DataTypes.FIELD(f"member{i}", kind) for i, kind in enumerate(members)])
    if isinstance(schema, str):
        schema = {"type": schema}
    logical = schema.get("logicalType")
    if logical == "decimal":
        return DataTypes.DECIMAL(schema["precision"], schema.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    kind = schema["type"]
    if kind == "record":
        kept = [f for f in schema["fields"] if not (grouped and is_null(f["type"]))]
        fields = [DataTypes.FIELD(f["name"], _data_type(f["type"], grouped)) for f in kept]
        return DataTypes.ROW(fields)
    if kind == "array":
        return DataTypes.ARRAY(_data_type(schema["items"], grouped))
    if kind == "map":
        return DataTypes.MAP(DataTypes.STRING(), _data_type(schema["values"], grouped))
    if kind in _SIMPLE:
        return _SIMPLE[kind]()  # type: ignore[no-any-return, operator]
    raise NotSupportedError(f"the Avro type {kind}", "it has no counterpart among the SQL types")


def _message_schema(record_class: str | None, avro_schema_string: str | None) -> AvroSchema:
    if avro_schema_string is not None:
        return AvroSchema.parse_string(avro_schema_string)
    if record_class is not None:
        raise NotSupportedError(
            "an Avro schema given by a Java class", "there are no Java classes here",
            do="pass avro_schema_string",
        )  # fmt: skip
    raise TypeError("record_class or avro_schema_string is needed")


class AvroRowDeserializationSchema(DeserializationSchema):
    """One Avro record, without a header, is one row."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _message_schema(record_class, avro_schema_string)
        self._row_type = row_type_of_schema(self._schema)

    def deserialize(self, message: bytes) -> Any:
        """The row of one Avro record without a schema in front."""
        try:
            record = fastavro().schemaless_reader(io.BytesIO(message), self._schema.parsed, None)
        except (ValueError, EOFError, IndexError, KeyError) as error:
            raise MalformedRecordError(f"not an Avro record: {error}; {message[:100]!r}") from error
        names = [field.name for field in self._row_type.fields]
        return row_maker(self._row_type)([record[name] for name in names])

    def get_produced_type(self) -> TypeInformation:
        """Rows with the fields of the Avro schema."""
        return type_info_of(self._row_type)


class AvroRowSerializationSchema(SerializationSchema):
    """One row is one Avro record, without a header."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _message_schema(record_class, avro_schema_string)
        self._row_type = row_type_of_schema(self._schema)

    def serialize(self, element: Any) -> bytes:
        """The Avro record of one row, without a schema in front."""
        unmake = value_unmaker(self._row_type)
        assert unmake is not None
        record: Mapping[str, Any] = element if isinstance(element, Mapping) else unmake(element)
        stream = io.BytesIO()
        fastavro().schemaless_writer(stream, self._schema.parsed, record)
        return stream.getvalue()
