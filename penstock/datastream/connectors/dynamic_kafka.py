"""Kafka over several clusters, as PyFlink spells it; refused by `build()`."""

from __future__ import annotations

from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.datastream.connectors.unsupported import Settings, UnsupportedSource, refuse

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


class KafkaMetadataService:
    """Knows which clusters and topics a stream lives on."""

    def __init__(self, j_metadata_service: Any) -> None:
        self.description = j_metadata_service


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """One cluster; a stream is a topic."""

    def __init__(self, kafka_cluster_id: str, properties: Any) -> None:
        super().__init__((kafka_cluster_id, dict(properties)))


class KafkaStreamSubscriber:
    """Says which streams are read."""

    def __init__(self, j_kafka_stream_subscriber: Any) -> None:
        self.description = j_kafka_stream_subscriber


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Streams by name."""

    def __init__(self, stream_ids: Any) -> None:
        super().__init__(frozenset(stream_ids))


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Streams whose name matches."""

    def __init__(self, stream_pattern: str) -> None:
        super().__init__(stream_pattern)


class KafkaRecordDeserializationSchema(DeserializationSchema):
    """Turns Kafka messages into records."""

    def __init__(self, j_deserialization_schema: Any) -> None:
        self.value_schema = j_deserialization_schema

    @staticmethod
    def value_only(deserialization_schema: Any) -> KafkaRecordDeserializationSchema:
        return KafkaRecordDeserializationSchema(deserialization_schema)

    def deserialize(self, message: bytes) -> Any:
        return self.value_schema.deserialize(message)


class DynamicKafkaSource(UnsupportedSource):
    """Reads streams that may move between clusters."""

    def __init__(self, j_dynamic_kafka_source: Any) -> None:
        refuse(
            "DynamicKafkaSource",
            "streams that move between clusters are not written yet",
            "read one cluster with KafkaSource",
        )

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder(Settings):
    """Settings of a `DynamicKafkaSource`."""

    def __init__(self) -> None:
        super().__init__()

    def set_stream_ids(self, stream_ids: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_stream_ids", stream_ids)

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        return self._set("set_stream_pattern", stream_pattern)

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_kafka_stream_subscriber", kafka_stream_subscriber)

    def set_kafka_metadata_service(self, kafka_metadata_service: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_kafka_metadata_service", kafka_metadata_service)

    def set_deserializer(self, deserializer: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_deserializer", deserializer)

    def set_value_only_deserializer(self, deserialization_schema: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_value_only_deserializer", deserialization_schema)

    def set_starting_offsets(self, starting_offsets_initializer: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_starting_offsets", starting_offsets_initializer)

    def set_bounded(self, stopping_offsets_initializer: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_bounded", stopping_offsets_initializer)

    def set_properties(self, props: Any) -> DynamicKafkaSourceBuilder:
        return self._set("set_properties", props)

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        return self._set("set_property", (key, value))

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        return self._set("set_group_id", group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        return self._set("set_client_id_prefix", prefix)

    def build(self) -> DynamicKafkaSource:
        return DynamicKafkaSource(self._settings)
