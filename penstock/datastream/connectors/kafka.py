"""Kafka, as PyFlink spells it. Flink 1.x's consumer and producer are refused when they are made."""

from __future__ import annotations

from abc import ABC
from enum import Enum
from typing import Any

from penstock.connectors.kafka.admin import KafkaTopicPartition
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.serializer import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from penstock.connectors.kafka.sink import KafkaSink
from penstock.connectors.kafka.sink_builder import KafkaSinkBuilder
from penstock.connectors.kafka.source import KafkaSource
from penstock.connectors.kafka.source_builder import KafkaSourceBuilder
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.unsupported import Settings, refuse
from penstock.functions.legacy import SinkFunction, SourceFunction

__all__ = [
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]

_BECAUSE = "Flink 1.x's connector is gone, and its state cannot be read"
_DO = "use KafkaSource and KafkaSink: docs/connectors/kafka.md"


class FlinkKafkaConsumerBase(SourceFunction, Settings, ABC):
    """Flink 1.x's way to read Kafka."""

    def __init__(self, j_flink_kafka_consumer: Any) -> None:
        refuse(type(self).__name__, _BECAUSE, _DO)

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumerBase:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._set("set_commit_offsets_on_checkpoints", commit_on_checkpoints)

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._set("set_start_from_earliest", True)

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._set("set_start_from_latest", True)

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._set("set_start_from_timestamp", startup_offsets_timestamp)

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._set("set_start_from_group_offsets", True)

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._set("disable_filter_restored_partitions_with_subscribed_topics", True)

    def get_produced_type(self) -> Any:
        """Never reached: the constructor refuses, and names `KafkaSource`."""
        return self._settings["deserialization_schema"].get_produced_type()


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Flink 1.x's way to read Kafka; use `KafkaSource`."""

    def __init__(self, topics: Any, deserialization_schema: Any, properties: Any) -> None:
        super().__init__(topics)


class Semantic(Enum):
    """What `FlinkKafkaProducer` promises."""

    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2


class FlinkKafkaProducerBase(SinkFunction, Settings, ABC):
    """Flink 1.x's way to write Kafka."""

    def __init__(self, j_flink_kafka_producer: Any) -> None:
        refuse(type(self).__name__, _BECAUSE, _DO)

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """Never reached: the constructor refuses, and names `KafkaSink`."""
        return self._set("set_log_failures_only", log_failures_only)

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Never reached: the constructor refuses, and names `KafkaSink`."""
        return self._set("set_flush_on_checkpoint", flush_on_checkpoint)

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducerBase:
        """Never reached: the constructor refuses, and names `KafkaSink`."""
        return self._set("set_write_timestamp_to_kafka", write_timestamp_to_kafka)


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Flink 1.x's way to write Kafka; use `KafkaSink`."""

    def __init__(
        self,
        topic: str,
        serialization_schema: Any,
        producer_config: Any,
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        super().__init__(topic)

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Never reached: the constructor refuses, and names `KafkaSink`."""
        return self._set("ignore_failures_after_transaction_timeout", True)
