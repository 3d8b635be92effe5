"""A producer that does not lose what it is given: its queue is bounded, and what cannot be delivered is an error.

Partitions are chosen as Java's client does (murmur2 of the key), so that messages of one key lie together whoever
wrote them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.connectors.kafka.client import Complaints, KafkaCluster, confluent
from penstock.connectors.kafka.records import NOW, Fields

_FULL_WAIT_S = 0.05
_DEFAULTS: Mapping[str, Any] = {
    "acks": "all",
    "delivery.timeout.ms": 120_000,
    "linger.ms": 5,
    "partitioner": "murmur2_random",
    "queue.buffering.max.kbytes": 65_536,
    "topic.metadata.propagation.max.ms": 10_000,
}


class KafkaProducer:
    """A client for one process; `send` and `flush` raise what went wrong since the last call."""

    def __init__(self, cluster: KafkaCluster, settings: Mapping[str, Any] | None = None) -> None:
        self._library = confluent()
        self._cluster = cluster
        self.complaints = Complaints()
        self._undelivered: Any = None
        given = {**_DEFAULTS, **cluster.settings}
        given.setdefault("enable.idempotence", str(given["acks"]) in ("all", "-1"))
        self.client = cluster.make(
            self._library.Producer,
            {
                **given,
                **(settings or {}),
                "delivery.report.only.error": True,
                "on_delivery": self._delivered,
                "error_cb": self.complaints,
            },
        )

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and self._undelivered is None:
            self._undelivered = (error, message.topic())

    def send(self, messages: Iterable[Fields]) -> None:
        """Queues messages, waiting where the queue is full."""
        produce, poll = self.client.produce, self.client.poll
        for count, (topic, value, key, timestamp_ms, headers, partition) in enumerate(messages):
            while True:
                try:
                    if headers is None and timestamp_ms == NOW:  # names of arguments cost as much as the call
                        produce(topic, value, key, partition)
                    else:
                        produce(
                            topic, value, key, partition=partition, timestamp=timestamp_ms, headers=headers
                        )
                    break
                except BufferError:
                    poll(_FULL_WAIT_S)
                    self.check()
                except self._library.KafkaException as error:
                    raise self._failed(error.args[0], topic) from None
            if not count % 1024:
                poll(0)
        self.check()

    def flush(self) -> None:
        """Waits until everything is delivered; the client itself gives up after 'delivery.timeout.ms'."""
        while self.client.flush(1.0):
            self.check()
        self.check()

    def check(self) -> None:
        """Raises what could not be delivered."""
        if self._undelivered is not None:
            (error, topic), self._undelivered = self._undelivered, None
            raise self._failed(error, topic)

    def _failed(self, error: Any, topic: str) -> Exception:
        codes = self._library.KafkaError
        if error.code() == codes._MSG_TIMED_OUT and self.complaints.telling is not None:
            error = self.complaints.telling
        return self._cluster.failed(f"cannot write to topic '{topic}'", error, self.complaints)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a topic has."""
        deadline = time.monotonic() + self._cluster.timeout_s
        try:
            listed = self.client.list_topics(topic, timeout=max(0.1, deadline - time.monotonic()))
        except self._library.KafkaException as error:
            self.client.poll(0)  # now it says what it has to complain about
            raise self._failed(error.args[0], topic) from None
        found = listed.topics[topic]
        if found.error is not None:
            raise self._failed(found.error, topic)
        return len(found.partitions)


_shared: dict[tuple[Any, ...], KafkaProducer] = {}


def shared_producer(cluster: KafkaCluster) -> KafkaProducer:
    """The process's producer for a cluster: connections outlive the epochs' writers."""
    key = (os.getpid(), *sorted(cluster.properties.items()))
    if key not in _shared:
        _shared[key] = KafkaProducer(cluster)
    return _shared[key]
