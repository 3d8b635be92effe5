"""MQTT. Flink itself has no such connector: the names are ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.connectors.async_sink import AsyncSinkSettings
from penstock.connectors.message_bodies import SchemaDecoder
from penstock.connectors.message_sinks import ONE_AFTER_THE_OTHER, ElementMessageSink
from penstock.connectors.mqtt.client import MqttAddress, mqtt_library
from penstock.connectors.mqtt.sink import MqttTarget
from penstock.connectors.mqtt.source import MqttTopicSource
from penstock.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = ["AsyncSinkSettings", "MqttSink", "MqttSinkBuilder", "MqttSource", "MqttSourceBuilder"]


class MqttSource(MqttTopicSource):
    """Reads topics, at least once; made by `MqttSource.builder()`."""

    @staticmethod
    def builder() -> MqttSourceBuilder:
        """Begins a source.

        Example:
            ```python
            source = (
                MqttSource.builder()
                .set_url("mqtt://broker:1883")
                .set_topics("sensors/+/temperature")
                .set_client_id("temperatures-job")
                .set_value_only_deserializer(SimpleStringSchema())
                .build()
            )
            ```
        """
        return MqttSourceBuilder()


class MqttSourceBuilder:
    """Settings of an `MqttSource`; address, topics, client id and a deserializer are needed."""

    def __init__(self) -> None:
        self._url = self._client_id = ""
        self._login: tuple[str | None, str | None] = (None, None)
        self._topics: tuple[str, ...] = ()
        self._schema: DeserializationSchema | None = None

    def set_url(self, url: str) -> MqttSourceBuilder:
        """`mqtt://host:1883`, `mqtts://host:8883` with TLS."""
        self._url = url
        return self

    def set_login(self, username: str, password: str) -> MqttSourceBuilder:
        """User name and password, where the broker asks for them."""
        self._login = (username, password)
        return self

    def set_topics(self, *topics: str) -> MqttSourceBuilder:
        """Topics, or patterns: `sensors/+/temperature`, `sensors/#`."""
        self._topics = topics
        return self

    def set_client_id(self, client_id: str) -> MqttSourceBuilder:
        """The name by which the broker knows the job again; no other client may have it."""
        self._client_id = client_id
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> MqttSourceBuilder:
        """Makes elements of the bodies of messages."""
        self._schema = deserialization_schema
        return self

    def build(self) -> MqttSource:
        """The source.

        Raises:
            ValidationError: Something is missing.
        """
        if self._schema is None:
            raise ValidationError("there is no deserializer", do="call set_value_only_deserializer")
        return MqttSource(
            MqttAddress(self._url, *self._login),
            self._topics,
            SchemaDecoder(self._schema),
            self._client_id,
            type_info=self._schema.get_produced_type(),
        )


class MqttSink(Sink):
    """Publishes to a topic, at least once; made by `MqttSink.builder()`."""

    def __init__(self, sink: ElementMessageSink) -> None:
        self._sink = sink

    @staticmethod
    def builder() -> MqttSinkBuilder:
        """Begins a sink; a URL, a topic and a serialization schema are needed."""
        return MqttSinkBuilder()

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        return self._sink.create_writer(context, restored)


class MqttSinkBuilder:
    """Settings of an `MqttSink`; address, topic and a serializer are needed."""

    def __init__(self) -> None:
        self._url = self._topic = ""
        self._login: tuple[str | None, str | None] = (None, None)
        self._retain = False
        self._schema: SerializationSchema | None = None
        self._settings = ONE_AFTER_THE_OTHER

    def set_url(self, url: str) -> MqttSinkBuilder:
        """`mqtt://host:1883`, `mqtts://host:8883` with TLS."""
        self._url = url
        return self

    def set_login(self, username: str, password: str) -> MqttSinkBuilder:
        """User name and password, where the broker asks for them."""
        self._login = (username, password)
        return self

    def set_topic(self, topic: str) -> MqttSinkBuilder:
        """The topic that messages are published to."""
        self._topic = topic
        return self

    def set_retain(self, retain: bool = True) -> MqttSinkBuilder:
        """The broker keeps the last message of the topic for who comes later."""
        self._retain = retain
        return self

    def set_value_serialization_schema(self, schema: SerializationSchema) -> MqttSinkBuilder:
        """What makes the body of a message."""
        self._schema = schema
        return self

    def set_settings(self, settings: AsyncSinkSettings) -> MqttSinkBuilder:
        """Messages of a batch, retries, pauses. More than one batch under way gives up their order."""
        self._settings = settings
        return self

    def build(self) -> MqttSink:
        """The sink.

        Raises:
            ValidationError: Something is missing.
        """
        mqtt_library()
        if not self._topic:
            raise ValidationError("there is no topic to write to", do="call set_topic")
        if self._schema is None:
            raise ValidationError("there is no serializer", do="call set_value_serialization_schema")
        target = MqttTarget(MqttAddress(self._url, *self._login), self._topic, retain=self._retain)
        return MqttSink(ElementMessageSink(target, self._schema, self._settings))
