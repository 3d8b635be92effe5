"""Which message a record of a stream becomes: `KafkaRecordSerializationSchema`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.serialization import SerializationSchema
from penstock.connectors.kafka.records import NOW, Outgoing

__all__ = ["KafkaRecordSerializationSchema", "KafkaRecordSerializationSchemaBuilder", "KafkaTopicSelector"]


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic."""


class KafkaRecordSerializationSchema(SerializationSchema):
    """Key, value and topic of the messages that a `KafkaSink` writes.

    A value that the schema gives as None is a tombstone. The message has the time of the record, if it has one.
    """

    def __init__(
        self,
        topic: str | Callable[[Any], str],
        value: SerializationSchema,
        key: SerializationSchema | None = None,
    ) -> None:
        self._topic = topic
        self._value = value
        self._key = key

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Begins a serializer; it needs a topic and a schema for values."""
        return KafkaRecordSerializationSchemaBuilder()

    def open(self) -> None:
        self._value.open()
        if self._key is not None:
            self._key.open()

    def serialize(self, element: Any) -> bytes | None:
        """The value alone."""
        return self._value.serialize(element)

    def messages(self, values: list[Any], timestamps: list[int] | None) -> Iterator[Outgoing]:
        """The messages of a batch of records, in order."""
        value_of = self._value.serialize
        key_of = None if self._key is None else self._key.serialize
        topic = self._topic
        for i, record in enumerate(values):
            at = NOW if timestamps is None or timestamps[i] < 0 else timestamps[i]
            key = None if key_of is None else key_of(record)
            chosen = topic if isinstance(topic, str) else _checked(topic(record), record)
            yield Outgoing(chosen, value_of(record), key, at)


def _checked(topic: Any, record: Any) -> str:
    if not isinstance(topic, str) or not topic:
        raise TypeMismatchError(
            f"the topic selector gave {topic!r} for {record!r}", do="return a topic's name"
        )
    return topic


class KafkaRecordSerializationSchemaBuilder:
    """Settings of a `KafkaRecordSerializationSchema`; a topic and a schema for values are needed."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """The topic of all messages."""
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: KafkaTopicSelector | Callable[[Any], str]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Chooses the topic of each record."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic = topic_selector.apply
        elif callable(topic_selector):
            self._topic = topic_selector
        else:
            raise TypeMismatchError("topic_selector must be a KafkaTopicSelector or a function")
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How the keys of messages are made; without it they have none."""
        self._key = key_serialization_schema
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How the values of messages are made."""
        self._value = value_serialization_schema
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The serializer."""
        if not self._topic:
            raise ValidationError("there is no topic", do="call set_topic or set_topic_selector")
        if self._value is None:
            raise ValidationError(
                "there is no schema for values",
                do="call set_value_serialization_schema(SimpleStringSchema())",
            )
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key)
