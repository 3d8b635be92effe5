"""The driver's side of a Kafka source: which partitions there are, and how far an epoch reads in each.

A partition is a split. The offsets between which it is read are fixed when it is found. What an epoch reads ends at
the offsets known when it was planned, which one request per broker asks for; so an epoch ends although messages
keep coming, and a task that is repeated reads the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.admin import KafkaAdmin, KafkaTopicPartition
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.source import ReadLimit, SourceSplit, SplitEnumerator

if TYPE_CHECKING:
    from penstock.connectors.kafka.source import KafkaReading

LOG = logging.getLogger(__name__)
_POLL_MS = 50


@dataclass(frozen=True)
class KafkaSplit(SourceSplit):
    """A partition, read from `start` up to `stop`, if that is known. A position is the next offset."""

    topic: str = ""
    partition: int = 0
    start: int = 0
    stop: int | None = None

    @property
    def place(self) -> KafkaTopicPartition:
        return KafkaTopicPartition(self.topic, self.partition)


class KafkaEnumerator(SplitEnumerator):
    """Partitions of a subscription.

    Args:
        restored: The partitions that are known already. One that is found later than the first look is read from its
            beginning, wherever the others began: its messages are all newer than the job.
    """

    def __init__(self, reading: KafkaReading, restored: Sequence[str] | None = None) -> None:
        self._reading = reading
        self._known = set(restored or ())
        self._first = restored is None
        self._next_look_s = 0.0
        self._looked = False
        self._admin: KafkaAdmin | None = None
        self._ends: dict[KafkaTopicPartition, int] = {}
        self._asked_ms: int | None = None
        self._reads: set[KafkaTopicPartition] = set()
        self._committed: dict[KafkaTopicPartition, int] = {}

    @property
    def admin(self) -> KafkaAdmin:
        """Made when it is first needed: a job that is only described connects to nothing."""
        if self._admin is None:
            self._admin = KafkaAdmin(self._reading.cluster)
        return self._admin

    # --- partitions

    def discover(self) -> Sequence[SourceSplit]:
        interval_ms = self._reading.discovery_ms
        if self._looked and (interval_ms is None or time.monotonic() < self._next_look_s):
            return ()
        found = self._reading.subscription.find(self.admin)
        self._next_look_s = time.monotonic() + (interval_ms or 0) / 1000
        new = [place for place in found if str(place) not in self._known]
        splits = self._splits(new)
        if new and not self._first:
            LOG.info("found new partitions: %s", ", ".join(map(str, new)))
        self._known.update(str(place) for place in new)
        self._first, self._looked = False, True
        return splits

    def _splits(self, places: Sequence[KafkaTopicPartition]) -> list[KafkaSplit]:
        reading = self._reading
        begin = reading.starting if self._first else KafkaOffsetsInitializer.earliest()
        starts = begin.resolve(self.admin, places, reading.group)
        stops: dict[KafkaTopicPartition, int] = {}
        if reading.stopping is not None:
            stops = reading.stopping.resolve(self.admin, places, reading.group)
        return [KafkaSplit(str(p), p.topic, p.partition, starts[p], stops.get(p)) for p in places]

    @property
    def no_more_splits(self) -> bool:
        return self._looked and self._reading.discovery_ms is None

    # --- epochs

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, KafkaSplit)
        at = split.start if position is None else position
        if split.stop is not None and at >= split.stop:
            return ReadLimit(end_position=at, split_ends=True)
        end = self._end(split.place, at, split.stop, now_ms)
        if split.stop is not None:
            end = min(end, split.stop)
        if at == end:
            return None
        # Behind the end: the topic was made anew, or the offset was never there. The reader finds out.
        return ReadLimit(end_position=end, split_ends=split.stop is not None and end >= split.stop)

    def _end(self, place: KafkaTopicPartition, at: int, stop: int | None, now_ms: int) -> int:
        self._reads.add(place)
        known = self._ends.get(place, 0)
        if stop is not None and at <= stop <= known:
            return known  # what comes after the stop does not matter
        if self._asked_ms != now_ms or place not in self._ends:
            self._ends.update(self.admin.latest(sorted(self._reads)))
            self._asked_ms = now_ms
        return self._ends[place]

    def pending_records(self, split: SourceSplit, position: Any) -> int | None:
        """Up to the end that was asked for last."""
        assert isinstance(split, KafkaSplit)
        end = self._ends.get(split.place)
        if end is None:
            return None
        at = split.start if position is None else position
        return max(0, min(end, end if split.stop is None else split.stop) - at)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return now_ms + _POLL_MS

    reads_committed_again = True  # offsets of the group are for onlookers; the topic keeps its records

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        group = self._reading.group
        if group is None or not self._reading.commits:
            return
        places = {split_id: KafkaTopicPartition(*_parsed(split_id)) for split_id in positions}
        offsets = {places[s]: offset for s, offset in positions.items() if offset is not None}
        changed = {p: offset for p, offset in offsets.items() if self._committed.get(p) != offset}
        if changed:
            self.admin.commit(group, offsets)
            self._committed = offsets

    def snapshot(self) -> Any:
        return None if self._first else sorted(self._known)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close(self._reading.group)


def _parsed(split_id: str) -> tuple[str, int]:
    topic, _, partition = split_id.rpartition("-")
    return topic, int(partition)
