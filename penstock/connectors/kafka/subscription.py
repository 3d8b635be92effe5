"""Which partitions a source reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.kafka.admin import KafkaAdmin, KafkaTopicPartition


@dataclass(frozen=True)
class Subscription:
    """Topics by name or by a pattern that matches the whole name, or single partitions: one of the three."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[KafkaTopicPartition, ...] = ()

    def __post_init__(self) -> None:
        if sum(map(bool, (self.topics, self.pattern, self.partitions))) != 1:
            raise ValidationError(
                "it must be said what to read: topics, a topic pattern or partitions, and only one of them"
            )
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValidationError(f"the topic pattern {self.pattern!r} is wrong: {error}") from None

    def __str__(self) -> str:
        if self.topics:
            return ", ".join(self.topics)
        return self.pattern or ", ".join(map(str, self.partitions))

    def find(self, admin: KafkaAdmin) -> list[KafkaTopicPartition]:
        """The partitions that there are now.

        Raises:
            ExternalSystemError: A topic or a partition that is named does not exist.
        """
        if self.pattern is not None:
            matches = re.compile(self.pattern).fullmatch
            topics = [topic for topic in admin.topics() if matches(topic)]
            return admin.partitions_of(topics) if topics else []
        if self.topics:
            return admin.partitions_of(self.topics)
        there = set(admin.partitions_of(p.topic for p in self.partitions))
        for place in self.partitions:
            if place not in there:
                raise ExternalSystemError(
                    f"topic '{place.topic}' has no partition {place.partition}",
                    where=f"Kafka cluster {admin.cluster.servers}",
                    do="correct the number, or add partitions: kafka-topics --alter --partitions ...",
                )
        return sorted(self.partitions)
