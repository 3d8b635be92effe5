"""Elements and rows to the bodies of messages: what sinks of queues share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.connectors.async_sink import Request, RequestConverter
from penstock.connectors.message_part import MessagePart
from penstock.formats.base import INSERT, RecordContext

__all__ = ["Decode", "ElementBodies", "RowBodies", "RowDecoder", "SchemaDecoder"]

Decode = Callable[[bytes], Sequence[Any]]
"""A body to its records: one, none, or several."""


class ElementBodies(RequestConverter):
    """Elements of a program; one of which the schema makes nothing is left out."""

    def __init__(self, schema: SerializationSchema) -> None:
        self._schema = schema
        schema.open()

    def convert(self, value: Any) -> Iterable[Request]:
        body = self._schema.serialize(value)
        return [] if body is None else [Request(body, len(body))]


class RowBodies(RequestConverter):
    """Rows of a table, or changes in a format of changes."""

    def __init__(self, message: MessagePart, changelog: bool) -> None:
        self._changelog = changelog
        self._encoder = message.encoder()

    def convert(self, value: Any) -> Iterable[Request]:
        row, kind = (value[:-1], value[-1]) if self._changelog else (value, INSERT)
        body = self._encoder.encode(kind, row)
        return [Request(body, len(body))]


@dataclass(frozen=True)
class SchemaDecoder:
    """Makes what turns bodies into a program's records; picklable."""

    schema: DeserializationSchema

    def __call__(self) -> Decode:
        self.schema.open()
        return lambda body: list(self.schema.deserialize_all(body))


@dataclass(frozen=True)
class RowDecoder:
    """Makes what turns bodies into rows, with their kinds if the format has changes; picklable."""

    message: MessagePart

    def __call__(self) -> Decode:
        decode, context = self.message.decoder().decode, RecordContext("message")
        if self.message.format.changelog:
            return lambda body: [(*row, kind) for kind, row in decode(body, context)]
        return lambda body: [row for _, row in decode(body, context)]
