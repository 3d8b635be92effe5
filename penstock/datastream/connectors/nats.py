"""NATS JetStream. Flink itself has no such connector: the names are ours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.connectors.async_sink import AsyncSinkSettings
from penstock.connectors.message_bodies import SchemaDecoder
from penstock.connectors.message_sinks import ONE_AFTER_THE_OTHER, ElementMessageSink
from penstock.connectors.nats.client import NatsAddress, nats_library
from penstock.connectors.nats.sink import NatsTarget
from penstock.connectors.nats.source import Decode, NatsReading, NatsStreamSource
from penstock.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = ["AsyncSinkSettings", "NatsSink", "NatsSinkBuilder", "NatsSource", "NatsSourceBuilder"]


@dataclass(frozen=True)
class _Bodies:
    """Decodes the bodies of messages; picklable."""

    schema: DeserializationSchema

    def __call__(self) -> Decode:
        decode = SchemaDecoder(self.schema)()
        return lambda message: decode(message.data)


class NatsSource(NatsStreamSource):
    """Reads a stream, exactly once; made by `NatsSource.builder()`."""

    @staticmethod
    def builder() -> NatsSourceBuilder:
        """Begins a source.

        Example:
            ```python
            source = (
                NatsSource.builder()
                .set_url("nats://broker:4222")
                .set_stream("ORDERS")
                .set_value_only_deserializer(SimpleStringSchema())
                .build()
            )
            ```
        """
        return NatsSourceBuilder()


class NatsSourceBuilder:
    """Settings of a `NatsSource`; address, stream and a deserializer are needed."""

    def __init__(self) -> None:
        self._url = ""
        self._login: dict[str, Any] = {}
        self._stream = ""
        self._subjects: tuple[str, ...] = ()
        self._begin: str | int | dt.datetime = "earliest"
        self._bounded = self._skip = False
        self._schema: DeserializationSchema | None = None

    def set_url(self, url: str) -> NatsSourceBuilder:
        """`nats://host:4222`, several separated by commas."""
        self._url = url
        return self

    def set_login(self, username: str, password: str) -> NatsSourceBuilder:
        """User name and password, where the server asks for them; replaces a token."""
        self._login = {"username": username, "password": password}
        return self

    def set_token(self, token: str) -> NatsSourceBuilder:
        """A token, where the server asks for one; replaces a user name."""
        self._login = {"token": token}
        return self

    def set_stream(self, stream: str) -> NatsSourceBuilder:
        """The JetStream stream to read."""
        self._stream = stream
        return self

    def set_subjects(self, *subjects: str) -> NatsSourceBuilder:
        """Only messages of these; subjects may be read side by side, so only those of one are in order."""
        self._subjects = subjects
        return self

    def set_start(self, start: str | int | dt.datetime) -> NatsSourceBuilder:
        """`earliest` (the default), `latest`, the sequence number of a message, or a moment."""
        self._begin = start
        return self

    def set_bounded(self) -> NatsSourceBuilder:
        """The source ends with the last message that there is when the job starts."""
        self._bounded = True
        return self

    def set_skip_missing(self) -> NatsSourceBuilder:
        """Go on where the stream's limits have removed messages before they were read."""
        self._skip = True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> NatsSourceBuilder:
        """Makes elements of the bodies of messages."""
        self._schema = deserialization_schema
        return self

    def build(self) -> NatsSource:
        """The source.

        Raises:
            ValidationError: Something is missing.
        """
        if self._schema is None:
            raise ValidationError("there is no deserializer", do="call set_value_only_deserializer")
        reading = NatsReading(
            NatsAddress(self._url, **self._login),
            self._stream,
            self._subjects,
            self._begin,
            self._bounded,
            self._skip,
        )
        return NatsSource(reading, _Bodies(self._schema), self._schema.get_produced_type())


class NatsSink(Sink):
    """Publishes to a subject that a stream listens to, at least once; made by `NatsSink.builder()`."""

    def __init__(self, sink: ElementMessageSink) -> None:
        self._sink = sink

    @staticmethod
    def builder() -> NatsSinkBuilder:
        """Begins a sink; a URL, a subject and a serialization schema are needed."""
        return NatsSinkBuilder()

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        return self._sink.create_writer(context, restored)


class NatsSinkBuilder:
    """Settings of a `NatsSink`; address, subject and a serializer are needed."""

    def __init__(self) -> None:
        self._url = self._subject = ""
        self._login: dict[str, Any] = {}
        self._schema: SerializationSchema | None = None
        self._settings = ONE_AFTER_THE_OTHER

    def set_url(self, url: str) -> NatsSinkBuilder:
        """`nats://host:4222`, several separated by commas."""
        self._url = url
        return self

    def set_login(self, username: str, password: str) -> NatsSinkBuilder:
        """User name and password, where the server asks for them; replaces a token."""
        self._login = {"username": username, "password": password}
        return self

    def set_token(self, token: str) -> NatsSinkBuilder:
        """A token, where the server asks for one; replaces a user name."""
        self._login = {"token": token}
        return self

    def set_subject(self, subject: str) -> NatsSinkBuilder:
        """The subject that messages are published to; a stream has to take it."""
        self._subject = subject
        return self

    def set_value_serialization_schema(self, schema: SerializationSchema) -> NatsSinkBuilder:
        """What makes the body of a message."""
        self._schema = schema
        return self

    def set_settings(self, settings: AsyncSinkSettings) -> NatsSinkBuilder:
        """Messages of a batch, retries, pauses. More than one batch under way gives up their order."""
        self._settings = settings
        return self

    def build(self) -> NatsSink:
        """The sink.

        Raises:
            ValidationError: Something is missing.
        """
        nats_library()
        if not self._subject:
            raise ValidationError("there is no subject to write to", do="call set_subject")
        if self._schema is None:
            raise ValidationError("there is no serializer", do="call set_value_serialization_schema")
        target = NatsTarget(NatsAddress(self._url, **self._login), self._subject)
        return NatsSink(ElementMessageSink(target, self._schema, self._settings))
