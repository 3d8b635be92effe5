"""The client that asks a cluster what the driver wants to know. It lives in a process beside (`apart.py`).

Every call is one request per broker, however many partitions it is about.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from penstock.connectors.kafka.admin import Committed, KafkaTopicPartition, Offsets
from penstock.connectors.kafka.client import Complaints, KafkaCluster, confluent

LOG = logging.getLogger(__name__)
_UNSETTLED_S = 0.05
_LEADERLESS_S = 0.3
_PATIENCE_S = 5.0
"""How long one request for a group's offsets may take before another client asks again."""


class KafkaAdminClient:
    """Asks; every failure is an error that names the cluster and what to do."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self._library = confluent()
        self._complaints = Complaints()
        self._client = self._made()
        self._committing: Future[Any] | None = None

    def _made(self) -> Any:
        return self.cluster.make(self._library.admin.AdminClient, {"error_cb": self._complaints})

    # --- topics

    def partitions_of(self, topics: Iterable[str]) -> list[KafkaTopicPartition]:
        """All partitions of topics; nothing is created by asking."""
        names = sorted(set(topics))
        asked = self._call(
            lambda: self._client.describe_topics(
                self._library.TopicCollection(names), request_timeout=self._timeout
            ),
            f"cannot look up the topics {', '.join(names)}",
        )
        found = []
        for topic in names:
            described = self._result(asked[topic], f"cannot look up topic '{topic}'")
            found += [KafkaTopicPartition(topic, p.id) for p in described.partitions]
        return sorted(found)

    def topics(self) -> list[str]:
        """All topics that one may see, without Kafka's own."""
        listed = self._call(lambda: self._client.list_topics(timeout=self._timeout), "cannot list the topics")
        return sorted(name for name in listed.topics if not name.startswith("__"))

    # --- offsets of partitions

    def earliest(self, partitions: Iterable[KafkaTopicPartition]) -> Offsets:
        return self._offsets(partitions, self._library.admin.OffsetSpec.earliest(), committed=False)

    def latest(self, partitions: Iterable[KafkaTopicPartition]) -> Offsets:
        """The next offset to be written; for those who read committed messages the end of what is decided."""
        return self._offsets(
            partitions, self._library.admin.OffsetSpec.latest(), self.cluster.reads_committed
        )

    def at_time(self, partitions: Iterable[KafkaTopicPartition], timestamp_ms: int) -> Offsets:
        """The first message that is not older, of partitions that have one."""
        spec = self._library.admin.OffsetSpec.for_timestamp(timestamp_ms)
        found = self._offsets(partitions, spec, committed=False)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _offsets(self, partitions: Iterable[KafkaTopicPartition], spec: Any, committed: bool) -> Offsets:
        """Offsets of partitions, of their leaders.

        A broker may tell a client that it is wrong about who leads a partition. The client does not look again then,
        and would be told so for minutes. A new one looks.
        """
        asked = {self._library.TopicPartition(p.topic, p.partition): spec for p in partitions}
        deadline = time.monotonic() + self._timeout
        while asked:
            found, what, error = self._asked_offsets(asked, committed)
            if error is None:
                return found
            failure = self._failed(what, error)
            if error.code() not in self._leaderless or time.monotonic() > deadline:
                raise failure
            LOG.info("%s; it is asked again", failure)
            self._client = self._made()
            time.sleep(_LEADERLESS_S)
        return {}

    @property
    def _leaderless(self) -> tuple[int, ...]:
        """What is said while leaders change, as when a broker starts."""
        k = self._library.KafkaError
        return (
            k.FENCED_LEADER_EPOCH, k.UNKNOWN_LEADER_EPOCH, k.NOT_LEADER_FOR_PARTITION, k.LEADER_NOT_AVAILABLE,
            k.REPLICA_NOT_AVAILABLE, k._NOENT,
        )  # fmt: skip

    def _asked_offsets(self, asked: Mapping[Any, Any], committed: bool) -> tuple[Offsets, str, Any]:
        """What is found, or what could not be done and why."""
        level = self._library.IsolationLevel
        found, what = {}, "cannot ask for offsets"
        try:
            answers = self._client.list_offsets(
                dict(asked),
                isolation_level=level.READ_COMMITTED if committed else level.READ_UNCOMMITTED,
                request_timeout=self._timeout,
            )
            for place, answer in answers.items():
                what = f"cannot ask for the offset of topic '{place.topic}', partition {place.partition}"
                at = KafkaTopicPartition(place.topic, place.partition)
                found[at] = answer.result(self._timeout + 5).offset
        except self._library.KafkaException as error:
            return {}, what, error.args[0]
        except FutureTimeout:
            return {}, what, self._library.KafkaError(self._library.KafkaError._TIMED_OUT)
        return found, what, None

    # --- offsets of groups

    def committed(
        self, group: str, partitions: Iterable[KafkaTopicPartition] | None = None, settled: bool = True
    ) -> Committed:
        """A group's offsets with their notes; None: all it has.

        Args:
            settled: Waits until no open transaction can change them any more.
        """
        places = None
        if partitions is not None:
            places = [self._library.TopicPartition(p.topic, p.partition) for p in partitions]
        what = f"cannot read the offsets of group '{group}'"
        deadline, patience_s = time.monotonic() + self._timeout, min(_PATIENCE_S, self._timeout / 2)
        while True:
            found, error = self._group_offsets(group, places, settled, patience_s)
            if error is None:
                break
            failure = self._failed(what, error)
            if error.code() not in self._unsettled or time.monotonic() > deadline:
                raise failure
            if error.code() == self._library.KafkaError._TIMED_OUT:
                self._client, patience_s = self._made(), min(2 * patience_s, self._timeout)
            time.sleep(_UNSETTLED_S)
        return {
            KafkaTopicPartition(p.topic, p.partition): (p.offset, p.metadata or "")
            for p in found
            if p.offset >= 0
        }

    @property
    def _unsettled(self) -> tuple[int, ...]:
        """What is said while a transaction is undecided or a coordinator starts."""
        k = self._library.KafkaError
        return (
            k.UNSTABLE_OFFSET_COMMIT, k._TIMED_OUT, k.COORDINATOR_LOAD_IN_PROGRESS, k.COORDINATOR_NOT_AVAILABLE,
            k.NOT_COORDINATOR,
        )  # fmt: skip

    def _group_offsets(
        self, group: str, places: Any, settled: bool, patience_s: float
    ) -> tuple[Sequence[Any], Any]:
        """What one request finds, or its error.

        A client may wait without end for the coordinator of a group that was on a broker which went away, also when
        the broker is back; so nobody waits long, and another client asks.
        """
        request = self._library.ConsumerGroupTopicPartitions(group, places)
        client = self._client  # held until it has answered: one that nobody holds gives up its calls
        try:
            asked = client.list_consumer_group_offsets(
                [request], require_stable=settled, request_timeout=patience_s
            )
            found = asked[group].result(patience_s + 1).topic_partitions or ()
        except self._library.KafkaException as error:
            return (), error.args[0]
        except FutureTimeout:
            return (), self._library.KafkaError(self._library.KafkaError._TIMED_OUT)
        return found, next((place.error for place in found if place.error is not None), None)

    def commit(self, group: str, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Sets a group's offsets, some time soon: they are for people and for a later job, this one has its own."""
        if not offsets:
            return
        if self._committing is not None and not self._committing.done():
            return  # the next commit has newer ones
        self._check_commit(group)
        places = [self._library.TopicPartition(p.topic, p.partition, o) for p, o in offsets.items()]
        request = self._library.ConsumerGroupTopicPartitions(group, places)
        asked = self._client.alter_consumer_group_offsets([request], request_timeout=self._timeout)
        self._committing = asked[group]

    def _check_commit(self, group: str) -> None:
        before, self._committing = self._committing, None
        error = before.exception() if before is not None else None
        if error is not None:
            LOG.warning("offsets could not be committed to group '%s': %s", group, error)

    def close(self, group: str | None = None) -> None:
        """Waits for offsets that are on their way."""
        if self._committing is not None and group is not None:
            try:
                self._committing.result(min(5.0, self._timeout))
            except Exception as error:
                LOG.warning("offsets could not be committed to group '%s': %s", group, error)

    # --- calls

    @property
    def _timeout(self) -> float:
        return self.cluster.timeout_s

    def _call(self, ask: Any, what: str) -> Any:
        try:
            return ask()
        except self._library.KafkaException as error:
            failure = error.args[0]
        except FutureTimeout:
            failure = self._library.KafkaError(self._library.KafkaError._TIMED_OUT)
        raise self._failed(what, failure)

    def _failed(self, what: str, failure: Any) -> Exception:
        self._client.poll(0)  # now it says what it has to complain about
        return self.cluster.failed(what, failure, self._complaints)

    def _result(self, future: Any, what: str) -> Any:
        return self._call(lambda: future.result(self._timeout + 5), what)
