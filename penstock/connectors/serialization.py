"""Records to bytes and back, as connectors need it: schemas, encoders and bulk writers.

    SerializationSchema      a record to the bytes of one message (Kafka, sockets)
    DeserializationSchema    the bytes of one message to a record
    Encoder                  records to the bytes of a row-format file, delimiters included
    BulkWriterFactory        records to a file whose format needs the whole file, such as Parquet

PyFlink wraps Java objects in these; here a program may subclass them.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import Any, BinaryIO

from penstock.common.errors import ValidationError
from penstock.common.rendering import render
from penstock.common.typeinfo import TypeInformation, Types

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema:
    """Turns a record into bytes; picklable."""

    def serialize(self, element: Any) -> bytes:
        """The bytes of one record."""
        raise NotImplementedError(f"{type(self).__name__} does not serialize")


class DeserializationSchema:
    """Turns bytes into a record; picklable."""

    def deserialize(self, message: bytes) -> Any:
        """The record, or None if there is none in the message."""
        raise NotImplementedError(f"{type(self).__name__} does not deserialize")

    def get_produced_type(self) -> TypeInformation | None:
        """Type of the records, if known."""
        return None


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Strings in a charset."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = _charset(charset)

    def serialize(self, element: Any) -> bytes:
        return str(element).encode(self.charset, "replace")

    def deserialize(self, message: bytes) -> str:
        return message.decode(self.charset, "replace")

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, element: Any) -> bytes:
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        return message

    def get_produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """The bytes in one field of a row; None becomes no bytes."""

    def __init__(self, field_index: int) -> None:
        if not isinstance(field_index, int) or isinstance(field_index, bool):
            raise TypeError(f"field_index must be an int, got {field_index!r}")
        if field_index < 0:
            raise ValueError(f"field_index must not be negative, got {field_index}")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        if len(element) <= self.field_index:
            raise ValidationError(f"a row of {len(element)} fields has no field {self.field_index}")
        value = element[self.field_index]
        return b"" if value is None else bytes(value)


class Encoder(ABC):
    """Writes records one after the other, in a form that can be continued: files may be concatenated."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """One line per record: strings as they are, other values as `print` would show them."""
        return SimpleStringEncoder(charset_name)

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """The bytes of one record, with its delimiter."""

    def encode_batch(self, values: list[Any], type_info: TypeInformation | None) -> bytes:
        """The bytes of many records; `type_info` is the type of the stream."""
        return b"".join(map(self.encode, values))


class SimpleStringEncoder(Encoder):
    """Lines of text; characters that the charset does not have become '?'."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset = _charset(charset_name)

    def encode(self, value: Any) -> bytes:
        return self.encode_batch([value], None)

    def encode_batch(self, values: list[Any], type_info: TypeInformation | None) -> bytes:
        try:
            text = "\n".join(values)
        except TypeError:
            text = "\n".join([render(value, type_info) for value in values])
        return (text + "\n").encode(self.charset, "replace")


class SchemaEncoder(Encoder):
    """Each record as a schema serializes it, and a line feed."""

    def __init__(self, schema: SerializationSchema) -> None:
        self.schema = schema

    def encode(self, value: Any) -> bytes:
        data = self.schema.serialize(value)
        return data if data.endswith(b"\n") else data + b"\n"


class BulkWriter(ABC):
    """Writes one file. The stream belongs to the caller: do not close it."""

    @abstractmethod
    def add_batch(self, values: list[Any]) -> None:
        """Adds records, in order."""

    @abstractmethod
    def finish(self) -> None:
        """Writes what is still missing, such as the footer."""


class BulkWriterFactory(ABC):
    """Makes writers for files of a bulk format; picklable."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter:
        """A writer that begins a file."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A bulk format for rows of a known type."""

    def __init__(self, row_type: Any) -> None:
        self.row_type = row_type

    def get_row_type(self) -> Any:
        return self.row_type


def _charset(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise ValidationError(f"unknown charset '{name}'", do="use a name such as UTF-8") from error
