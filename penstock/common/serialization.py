"""Schemas and encoders: how connectors turn records into bytes and back.

Connectors call `open` once per process, then `serialize` or `deserialize` for every record. Formats such as
JSON and CSV are schemas too; here are the ones without a format.
"""

from __future__ import annotations

import codecs as text_codecs
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, BinaryIO

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.rendering import render
from penstock.common.typeinfo import PrimitiveArrayTypeInfo, TypeInformation, Types
from penstock.common.types import Row

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
    """Turns records into bytes; subclass it for a form of one's own."""

    def open(self) -> None:
        """Called once in each process before the first record."""

    def serialize(self, element: Any) -> bytes | None:
        """The bytes of one record; None leaves it out."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to serialize")


class DeserializationSchema:
    """Turns bytes into records; subclass it for a form of one's own."""

    def open(self) -> None:
        """Called once in each process before the first record."""

    def deserialize(self, message: bytes) -> Any:
        """One record; None means that the message holds none."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to deserialize")

    def deserialize_all(self, message: bytes) -> Iterable[Any]:
        """All records of a message: one, or none, unless a subclass knows better."""
        record = self.deserialize(message)
        return () if record is None else (record,)

    def is_end_of_stream(self, next_element: Any) -> bool:
        """Whether this record says that no more will come."""
        return False

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records; None when it is not declared."""
        return None


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text, in UTF-8 unless told otherwise; bytes that are no text become U+FFFD, as in Java."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = _known_charset(charset)

    def serialize(self, element: Any) -> bytes:
        if not isinstance(element, str):
            raise TypeMismatchError(
                f"SimpleStringSchema writes strings, got {element!r}",
                do="map the stream to strings first, with output_type=Types.STRING()",
            )
        return element.encode(self.charset)

    def deserialize(self, message: bytes) -> str:
        return message.decode(self.charset, "replace")

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, element: Any) -> bytes:
        if not isinstance(element, (bytes, bytearray, memoryview)):
            raise TypeMismatchError(f"ByteArraySchema writes bytes, got {element!r}")
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        return PrimitiveArrayTypeInfo(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which must hold bytes: for example a Kafka message's key."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValidationError(f"Field index must be non-negative, got {field_index}")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        if not isinstance(element, (Row, tuple, list)) or len(element) <= self.field_index:
            raise TypeMismatchError(f"{element!r} has no field {self.field_index}")
        value = element[self.field_index]
        if not isinstance(value, (bytes, bytearray)):
            raise TypeMismatchError(
                f"field {self.field_index} holds {value!r}, not bytes",
                do="encode it in a map() before the sink",
            )
        return bytes(value)


class Encoder(ABC):
    """Writes records one after the other into a file."""

    @abstractmethod
    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Append one record."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """A line of text for each record, as `print()` would show it."""
        return SimpleStringEncoder(charset_name)


class SimpleStringEncoder(Encoder):
    """Lines of text. The sink may set `type_info` to its records' type, so that they read as in Flink."""

    def __init__(self, charset_name: str = "UTF-8", type_info: TypeInformation | None = None) -> None:
        self.charset_name = _known_charset(charset_name)
        self.type_info = type_info

    def encode(self, element: Any, stream: BinaryIO) -> None:
        stream.write((render(element, self.type_info) + "\n").encode(self.charset_name))


class BulkWriter(ABC):
    """Writes a whole file of records, for formats that are not written record by record."""

    @abstractmethod
    def add_element(self, element: Any) -> None:
        """Take one record; it may stay in memory for now."""

    @abstractmethod
    def flush(self) -> None:
        """Write out what can be written."""

    @abstractmethod
    def finish(self) -> None:
        """Write the rest and the end of the file, without closing the stream."""


class BulkWriterFactory(ABC):
    """Makes a `BulkWriter` for each file."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter:
        """A writer into `stream`."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """Makes writers for rows of a known type."""

    def __init__(self, row_type: Any) -> None:
        self._row_type = row_type

    def get_row_type(self) -> Any:
        """The columns that are written."""
        return self._row_type


def _known_charset(name: str) -> str:
    try:
        return text_codecs.lookup(name).name
    except LookupError:
        raise ValidationError(f"unknown charset {name!r}", do="use a name such as UTF-8") from None
