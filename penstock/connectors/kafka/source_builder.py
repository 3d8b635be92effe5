"""`KafkaSource.builder()`: a source's settings, under PyFlink's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.common.errors import ValidationError
from penstock.common.serialization import DeserializationSchema
from penstock.connectors.kafka.admin import KafkaTopicPartition
from penstock.connectors.kafka.client import KafkaCluster
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.kafka.source import KafkaReading, KafkaSource
from penstock.connectors.kafka.subscription import Subscription

__all__ = ["KafkaSourceBuilder"]


class KafkaSourceBuilder:
    """Settings of a `KafkaSource`; servers, what to read and a deserializer are needed."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._deserializer: DeserializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Where the cluster is: `host:port`, with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The group to which offsets are committed, and whose offsets `committed_offsets` means."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """The topics to read, all their partitions."""
        return self._subscribe(Subscription(topics=tuple(topics)))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """All topics whose whole name matches, also those that are made later."""
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """The partitions to read, and no others."""
        return self._subscribe(Subscription(partitions=tuple(sorted(partitions))))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ValidationError(
                f"cannot read {subscription}: it was already said to read {self._subscription}",
                do="call one of set_topics, set_topic_pattern and set_partitions, once",
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Where partitions begin that are there when the job starts; earliest by default."""
        self._starting = starting_offsets_initializer
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Partitions end there, but the source counts as endless, and goes on if partitions are looked for."""
        self._stopping, self._bounded = stopping_offsets_initializer, False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """The source ends there; no partitions are looked for after the start."""
        self._stopping, self._bounded = stopping_offsets_initializer, True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """How the values of messages become elements; keys are not looked at."""
        self._deserializer = deserialization_schema
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """What the names of the clients begin with."""
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """A setting of Kafka's consumer, by the name that Java's client or librdkafka has for it."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Settings of the Kafka client."""
        self._properties.update(props)
        return self

    def build(self) -> KafkaSource:
        """The source.

        Raises:
            ValidationError: Something is missing, or does not go together.

        Example:
            ```python
            source = (
                KafkaSource.builder()
                .set_bootstrap_servers("broker:9092")
                .set_topics("orders")
                .set_group_id("orders-job")
                .set_starting_offsets(KafkaOffsetsInitializer.earliest())
                .set_value_only_deserializer(SimpleStringSchema())
                .build()
            )
            orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
            ```
        """
        if self._subscription is None:
            raise ValidationError(
                "it is not said what to read",
                do="call set_topics, set_topic_pattern or set_partitions",
            )
        if self._deserializer is None:
            raise ValidationError(
                "there is no deserializer",
                do="call set_value_only_deserializer, e.g. with SimpleStringSchema()",
            )
        return KafkaSource(
            KafkaReading(
                KafkaCluster(self._properties),
                self._subscription,
                self._starting,
                self._stopping,
                self._bounded,
            ),
            self._deserializer,
        )
