"""The messages of one partition between two offsets, inside a task.

Offsets have holes: the marks of transactions, messages of aborted ones, what compaction removed. So the end of a
read is reached by a message at or behind it, or by the client's word that it stands at the partition's end.

A cursor stays where it is between epochs: what the client has fetched ahead is not fetched again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.kafka.client import Complaints, KafkaCluster, confluent
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy

LOG = logging.getLogger(__name__)
BATCH_MESSAGES = 8192
_WAIT_S = 0.2

Messages = list[Any]


class PartitionCursor:
    """Reads one partition; owns a consumer that belongs to no group's assignment."""

    def __init__(
        self,
        cluster: KafkaCluster,
        topic: str,
        partition: int,
        reset: KafkaOffsetResetStrategy,
        client_id: str,
    ) -> None:
        library = confluent()
        self._errors = library.KafkaError
        self._library = library
        self._cluster = cluster
        self._topic, self._partition = topic, partition
        self._reset = reset
        self._complaints = Complaints()
        self._consumer = cluster.make(library.Consumer, self._settings(client_id))
        self._next: int | None = None
        self._held: Messages = []

    def _settings(self, client_id: str) -> dict[str, Any]:
        given = self._cluster.settings
        return {
            "client.id": f"{client_id}-{self._topic}-{self._partition}",
            "group.id": given.get("group.id", "penstock"),
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if self._cluster.reads_committed else "read_uncommitted",
            "queued.max.messages.kbytes": given.get("queued.max.messages.kbytes", 16384),
            "error_cb": self._complaints,
        }

    @property
    def where(self) -> str:
        return f"topic '{self._topic}', partition {self._partition}, Kafka cluster {self._cluster.servers}"

    def read(
        self, start: int, end: int, wanted: Callable[[], int | None] = lambda: None
    ) -> Iterator[tuple[Messages, int]]:
        """Batches of messages, each with the offset to go on from; the last one has `end`, unless enough was read.

        Args:
            wanted: How many messages are wanted yet, asked before each batch; None: all of them.
        """
        if self._next != start:
            self._seek(start)
        self._next = None  # until a batch is handed over: what fails before that is read again
        at, beyond = start, start > end  # not there at all: the broker says so when asked
        while at < end or beyond:
            left = wanted()
            if left is not None and left <= 0:
                break
            batch, at = self._batch(at, end, BATCH_MESSAGES if left is None else min(left, BATCH_MESSAGES))
            beyond = False
            self._next = at
            yield batch, at
            self._next = None
        self._next = at

    def _seek(self, offset: int) -> None:
        self._held = []
        self._consumer.assign([self._library.TopicPartition(self._topic, self._partition, offset)])

    def _batch(self, at: int, end: int, size: int) -> tuple[Messages, int]:
        """Up to `size` messages before `end`, and the offset after them."""
        batch: Messages = []
        deadline = time.monotonic() + self._cluster.timeout_s
        beyond = at > end
        while (at < end or beyond) and len(batch) < size:
            found = self._poll(size - len(batch))
            if found:
                deadline = time.monotonic() + self._cluster.timeout_s
            elif time.monotonic() > deadline:
                raise self._silent()
            last = _plain_until(found, at, end)
            if last is not None:
                batch += found
                at = last + 1
                continue
            for i, message in enumerate(found):
                error = message.error()
                if error is not None:
                    at, beyond = self._event(error, message.offset(), at, end), False
                    continue
                offset = message.offset()
                if offset >= end:
                    self._held = found[i:] + self._held
                    return batch, max(at, end)
                if offset >= at:
                    batch.append(message)
                    at = offset + 1
        return batch, at

    def _poll(self, size: int) -> Messages:
        """What is there: waits for one message, and takes what the client has fetched with it."""
        if self._held:
            taken, self._held = self._held[:size], self._held[size:]
            return taken
        first = self._consumer.poll(_WAIT_S)
        if first is None:
            return []
        return [first, *self._consumer.consume(size - 1, 0)] if size > 1 else [first]

    def _event(self, error: Any, offset: int, at: int, end: int) -> int:
        """Where reading goes on after something that is not a message."""
        codes = self._errors
        if error.code() == codes._PARTITION_EOF:
            return max(at, end) if offset >= end else at
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            return self._out_of_range(at, end)
        if error.retriable() or error.code() in (codes._TRANSPORT, codes._ALL_BROKERS_DOWN):
            return at  # the client goes on trying; `_silent` says when that is enough
        raise self._cluster.failed(f"cannot read {self.where}", error, self._complaints)

    def _out_of_range(self, at: int, end: int) -> int:
        """The offset is gone or never was: the strategy decides, and it is said."""
        place = self._library.TopicPartition(self._topic, self._partition)
        try:
            low, high = self._consumer.get_watermark_offsets(place, timeout=self._cluster.timeout_s)
        except self._library.KafkaException as error:
            raise self._cluster.failed(f"cannot read {self.where}", error, self._complaints) from None
        what = f"offset {at} is out of range: the partition has the offsets {low} to {high}"
        if self._reset is KafkaOffsetResetStrategy.NONE:
            gone = ExternalSystemError(
                what,
                where=self.where,
                do="start from another offset, or choose a reset strategy (auto.offset.reset: earliest or latest)",
            )
            gone.retryable = False
            raise gone
        target = low if self._reset is KafkaOffsetResetStrategy.EARLIEST else end
        LOG.warning("%s; reading goes on at %d as the reset strategy says: %s", what, target, self.where)
        self._seek(target)
        return target

    def _silent(self) -> Exception:
        error = self._complaints.telling or self._errors(self._errors._TIMED_OUT)
        what = f"topic '{self._topic}', partition {self._partition} gave no answer for {self._cluster.timeout_s:g} s"
        return self._cluster.failed(what, error, self._complaints)

    def close(self) -> None:
        self._consumer.close()


def _plain_until(found: Messages, at: int, end: int) -> int | None:
    """The last offset, if all of them are messages that are wanted, as nearly always; one look at each is enough."""
    offsets = [m.offset() for m in found if m.error() is None]
    if offsets and len(offsets) == len(found) and offsets[0] >= at and offsets[-1] < end:
        last: int = offsets[-1]
        return last
    return None
