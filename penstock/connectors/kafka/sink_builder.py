"""`KafkaSink.builder()`: a sink's settings, under PyFlink's names."""

from __future__ import annotations

from penstock.common.errors import ValidationError
from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.kafka.client import KafkaCluster
from penstock.connectors.kafka.serializer import KafkaRecordSerializationSchema
from penstock.connectors.kafka.sink import KafkaSink, KafkaWriting

__all__ = ["KafkaSinkBuilder"]

_PREFIX_BYTES = 64_000


class KafkaSinkBuilder:
    """Settings of a `KafkaSink`; servers and a serializer are needed, and an id prefix for EXACTLY_ONCE."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._serializer: KafkaRecordSerializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Where the cluster is: `host:port`, with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """NONE by default, as in Flink."""
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What the ids of the sink's transactions begin with: unique in the cluster, and always the same."""
        if len(transactional_id_prefix.encode()) > _PREFIX_BYTES:
            raise ValidationError(f"a transactional id prefix must not have more than {_PREFIX_BYTES} bytes")
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """How elements become messages, and for which topic."""
        self._serializer = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """A setting of Kafka's producer, by the name that Java's client or librdkafka has for it."""
        self._properties[key] = value
        return self

    def build(self) -> KafkaSink:
        """The sink.

        Raises:
            ValidationError: Something is missing.

        Example:
            ```python
            sink = (
                KafkaSink.builder()
                .set_bootstrap_servers("broker:9092")
                .set_record_serializer(
                    KafkaRecordSerializationSchema.builder()
                    .set_topic("totals")
                    .set_value_serialization_schema(SimpleStringSchema())
                    .build()
                )
                .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .set_transactional_id_prefix("totals-job")
                .build()
            )
            totals.sink_to(sink)
            ```
        """
        if self._serializer is None:
            raise ValidationError("there is no serializer", do="call set_record_serializer")
        return KafkaSink(
            KafkaWriting(KafkaCluster(self._properties), self._guarantee, self._prefix), self._serializer
        )
