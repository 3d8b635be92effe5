"""Where reading begins and where it ends: names for offsets, and the numbers that they stand for now.

The driver turns names into numbers once, when it finds a partition; the numbers are part of the split and so of every
checkpoint. A job that is started again reads on from its checkpoint, whatever `latest` is by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.kafka.admin import KafkaAdmin, KafkaTopicPartition, Offsets

Place = Literal["earliest", "latest", "timestamp", "committed", "offsets"]


class KafkaOffsetResetStrategy(Enum):
    """Where to go on if an offset is not there: none was committed, or its message was deleted meanwhile."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Where a `KafkaSource` begins or ends. Made by its static methods."""

    place: Place
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE
    timestamp_ms: int = 0
    by_partition: Mapping[KafkaTopicPartition, int] = field(default_factory=dict)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets that the group has committed; where there are none, the strategy decides."""
        return KafkaOffsetsInitializer("committed", offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first message that is not older; the end of partitions that have none."""
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.LATEST, timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The oldest message that is there."""
        return KafkaOffsetsInitializer("earliest", KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Behind the newest message."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """These offsets; what the group has committed, and then the strategy, for partitions not named."""
        negative = [f"{place}: {offset}" for place, offset in offsets.items() if offset < 0]
        if negative:
            raise ValidationError(f"an offset must not be negative: {negative[0]}")
        return KafkaOffsetsInitializer("offsets", offset_reset_strategy, by_partition=dict(offsets))

    @property
    def needs_group(self) -> bool:
        """Whether it begins where a consumer group has left off, so that `group.id` has to be set."""
        return self.place == "committed"

    def resolve(
        self, admin: KafkaAdmin, partitions: Sequence[KafkaTopicPartition], group: str | None
    ) -> Offsets:
        """An offset for each of the partitions.

        Raises:
            ExternalSystemError: A partition has no committed offset and the strategy says to go nowhere.
        """
        if self.place == "earliest":
            return admin.earliest(partitions)
        if self.place == "latest":
            return admin.latest(partitions)
        if self.place == "timestamp":
            found = admin.at_time(partitions, self.timestamp_ms)
        else:
            found = {p: self.by_partition[p] for p in partitions if p in self.by_partition}
            rest = [p for p in partitions if p not in found]
            if group and rest:
                found |= {p: offset for p, (offset, _) in admin.committed(group, rest).items()}
        return found | self._otherwise(admin, [p for p in partitions if p not in found], group)

    def _otherwise(
        self, admin: KafkaAdmin, missing: Sequence[KafkaTopicPartition], group: str | None
    ) -> Offsets:
        if not missing:
            return {}
        if self.reset is KafkaOffsetResetStrategy.NONE:
            place = missing[0]
            found = ExternalSystemError(
                f"group '{group or ''}' has no committed offset for topic '{place.topic}', "
                f"partition {place.partition}",
                where=f"Kafka cluster {admin.cluster.servers}",
                do="start from earliest or latest, or say which of them to use where no offset was committed:\n"
                "committed_offsets(KafkaOffsetResetStrategy.EARLIEST), 'properties.auto.offset.reset' in SQL",
            )
            found.retryable = False
            raise found
        earliest = self.reset is KafkaOffsetResetStrategy.EARLIEST
        return admin.earliest(missing) if earliest else admin.latest(missing)
