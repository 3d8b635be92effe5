"""What the driver asks a cluster: partitions of topics, offsets of partitions, offsets of a group.

The client is in a process of its own (`apart.py`). Whatever is asked may be asked again; so when the client is lost,
the next one is asked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.kafka.apart import Apart, ClientLost
from penstock.connectors.kafka.client import KafkaCluster

LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
_GRACE_S = 20.0
"""How much longer than its own timeouts the client may take to say that they were exceeded."""


@dataclass(frozen=True, order=True)
class KafkaTopicPartition:
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Offsets = dict[KafkaTopicPartition, int]
Committed = dict[KafkaTopicPartition, tuple[int, str]]


class KafkaAdmin:
    """Asks; every failure is an error that names the cluster and what to do."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self._client = self._made()
        self._lock = threading.Lock()  # a question's time is its own

    def _made(self) -> Apart:
        from penstock.connectors.kafka.admin_client import KafkaAdminClient

        return Apart(KafkaAdminClient, self.cluster)

    def partitions_of(self, topics: Iterable[str]) -> list[KafkaTopicPartition]:
        """All partitions of topics; nothing is created by asking."""
        found: list[KafkaTopicPartition] = self._ask("partitions_of", sorted(set(topics)))
        return found

    def topics(self) -> list[str]:
        """All topics that one may see, without Kafka's own."""
        found: list[str] = self._ask("topics")
        return found

    # --- offsets of partitions

    def earliest(self, partitions: Iterable[KafkaTopicPartition]) -> Offsets:
        return self._offsets("earliest", partitions)

    def latest(self, partitions: Iterable[KafkaTopicPartition]) -> Offsets:
        """The next offset to be written; for those who read committed messages the end of what is decided."""
        return self._offsets("latest", partitions)

    def at_time(self, partitions: Iterable[KafkaTopicPartition], timestamp_ms: int) -> Offsets:
        """The first message that is not older, of partitions that have one."""
        return self._offsets("at_time", partitions, timestamp_ms)

    def _offsets(self, method: str, partitions: Iterable[KafkaTopicPartition], *arguments: Any) -> Offsets:
        asked = list(partitions)
        found: Offsets = self._ask(method, asked, *arguments) if asked else {}
        return found

    # --- offsets of groups

    def committed(
        self, group: str, partitions: Iterable[KafkaTopicPartition] | None = None, settled: bool = True
    ) -> Committed:
        """A group's offsets with their notes; None: all it has.

        Args:
            settled: Waits until no open transaction can change them any more.
        """
        places = None if partitions is None else list(partitions)
        found: Committed = self._ask("committed", group, places, settled)
        return found

    def commit(self, group: str, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Sets a group's offsets, some time soon: they are for people and for a later job, this one has its own."""
        if offsets:
            self._ask("commit", group, dict(offsets))

    def close(self, group: str | None = None) -> None:
        """Waits for offsets that are on their way."""
        try:
            if group is not None:
                self._client.call("close", group, timeout_s=_GRACE_S)
        except ClientLost as error:
            LOG.warning(
                "nobody knows whether the last offsets were committed to group '%s': %s", group, error
            )
        finally:
            self._client.close()

    def _ask(self, method: str, *arguments: Any) -> Any:
        with self._lock:
            for _ in range(_ATTEMPTS):
                try:
                    return self._client.call(method, *arguments, timeout_s=self.cluster.timeout_s + _GRACE_S)
                except ClientLost as error:
                    LOG.warning("the cluster %s is asked again: %s", self.cluster.servers, error)
                    lost = error
                    self._client.close()
                    self._client = self._made()
        failed = ExternalSystemError(
            f"the Kafka client has failed {_ATTEMPTS} times: {lost}",
            where=f"Kafka cluster {self.cluster.servers}",
            do="look at the brokers; the job's restart strategy tries again",
        )
        failed.retryable = True
        raise failed
