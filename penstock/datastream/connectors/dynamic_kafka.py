"""Kafka streams that a metadata service knows, as PyFlink spells it.

A stream is a name; a `KafkaMetadataService` says on which clusters and topics it lives. The one that comes with
Flink, `SingleClusterTopicMetadataService`, says: on this cluster, in the topic of that name. With it a
`DynamicKafkaSource` is a `KafkaSource`: streams that appear later are found, offsets are in the checkpoint. Services
that are Java classes, and with them streams that move between clusters, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.serialization import DeserializationSchema
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.kafka.source import KafkaReading, KafkaSource
from penstock.connectors.kafka.source_builder import KafkaSourceBuilder
from penstock.datastream.connectors.unsupported import refuse

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]


_DISCOVERY = "stream-metadata-discovery-interval-ms"


class KafkaMetadataService:
    """Knows which clusters and topics a stream lives on. In PyFlink it wraps a Java object, which nobody has here."""

    def __init__(self, j_metadata_service: Any) -> None:
        refuse(
            "KafkaMetadataService",
            "it is an object of Java's",
            "use SingleClusterTopicMetadataService, or a KafkaSource for each cluster and union",
        )


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """One cluster; a stream is a topic."""

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = {str(name): str(value) for name, value in properties.items()}


class KafkaStreamSubscriber:
    """Says which streams are read. In PyFlink it wraps a Java object, which nobody has here."""

    def __init__(self, j_kafka_stream_subscriber: Any) -> None:
        refuse(
            "KafkaStreamSubscriber",
            "it is an object of Java's",
            "use KafkaStreamSetSubscriber or StreamPatternSubscriber",
        )


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Streams by name."""

    def __init__(self, stream_ids: Iterable[str]) -> None:
        self.stream_ids = tuple(sorted(set(stream_ids)))


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Streams whose name matches."""

    def __init__(self, stream_pattern: str) -> None:
        self.stream_pattern = stream_pattern


class KafkaRecordDeserializationSchema(DeserializationSchema):
    """Turns the values of Kafka messages into records."""

    def __init__(self, j_deserialization_schema: Any) -> None:
        self.value_schema = j_deserialization_schema

    @staticmethod
    def value_only(deserialization_schema: Any) -> KafkaRecordDeserializationSchema:
        """Decodes the values of records; keys and headers are left aside."""
        return KafkaRecordDeserializationSchema(deserialization_schema)

    def deserialize(self, message: bytes) -> Any:
        """The element of a record's value."""
        return self.value_schema.deserialize(message)


class DynamicKafkaSource(KafkaSource):
    """Reads streams; programs make one with `DynamicKafkaSource.builder()`."""

    def __init__(self, j_dynamic_kafka_source: Any) -> None:
        assert isinstance(j_dynamic_kafka_source, KafkaSource), "programs use the builder"
        reading: KafkaReading = j_dynamic_kafka_source.reading
        super().__init__(reading, j_dynamic_kafka_source.deserializer)

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:  # type: ignore[override]
        """Begins a source; streams, a metadata service and a deserializer are needed."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder:
    """Settings of a `DynamicKafkaSource`; a service, what to read and a deserializer are needed."""

    def __init__(self) -> None:
        self._source = KafkaSourceBuilder()
        self._service: SingleClusterTopicMetadataService | None = None
        self._properties: dict[str, str] = {}

    def set_stream_ids(self, stream_ids: Iterable[str]) -> DynamicKafkaSourceBuilder:
        """Reads these streams."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Reads the streams whose names fit a regular expression, also those that appear later."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder:
        """Says which streams are read, by name or by pattern."""
        if isinstance(kafka_stream_subscriber, KafkaStreamSetSubscriber):
            self._source.set_topics(*kafka_stream_subscriber.stream_ids)
        elif isinstance(kafka_stream_subscriber, StreamPatternSubscriber):
            self._source.set_topic_pattern(kafka_stream_subscriber.stream_pattern)
        return self

    def set_kafka_metadata_service(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> DynamicKafkaSourceBuilder:
        """Says where streams live: a `SingleClusterTopicMetadataService`."""
        if isinstance(kafka_metadata_service, SingleClusterTopicMetadataService):
            self._service = kafka_metadata_service
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Makes elements of records; only their values are looked at."""
        return self.set_value_only_deserializer(deserializer.value_schema)

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Makes elements of the records' values."""
        self._source.set_value_only_deserializer(deserialization_schema)
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Where reading begins if there is no checkpoint."""
        self._source.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Where reading ends; the source is bounded then."""
        self._source.set_bounded(stopping_offsets_initializer)
        return self

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder:
        """Sets properties of Kafka's consumer; later ones win."""
        self._properties.update(props)
        return self

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """Sets one property of Kafka's consumer."""
        self._properties[key] = value
        return self

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """The consumer group that offsets are committed for."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """What names of Kafka's clients begin with."""
        return self.set_property("client.id.prefix", prefix)

    def build(self) -> DynamicKafkaSource:
        """The source.

        Raises:
            ValidationError: Something is missing, or does not go together.
        """
        if self._service is None:
            raise ValidationError(
                "there is no metadata service: nobody knows where the streams are",
                do="call set_kafka_metadata_service with a SingleClusterTopicMetadataService",
            )
        settings = dict(self._properties)
        interval = settings.pop(_DISCOVERY, None)
        if interval is not None:
            settings.setdefault("partition.discovery.interval.ms", interval)
        settings.pop("stream-metadata-discovery-failure-threshold", None)
        self._source.set_properties({**settings, **self._service.properties})
        return DynamicKafkaSource(self._source.build())
