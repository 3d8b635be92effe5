"""A client with a transactional id. It lives in a process beside the driver's (`apart.py`), so its errors travel.

`Again`   the transaction did not happen, or nobody knows: a new client may try again, after a look at the mark
`Fenced`  somebody else uses the id now
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from penstock.common.errors import PenstockError
from penstock.connectors.kafka.client import KafkaCluster, confluent
from penstock.connectors.kafka.producer import KafkaProducer
from penstock.connectors.kafka.records import decode_block

LOG = logging.getLogger(__name__)
_TRANSACTION_TIMEOUT_MS = 300_000


class Again(Exception):
    """See above; `failure` is what to tell if it has been tried often enough."""

    def __init__(self, text: str, failure: PenstockError) -> None:
        super().__init__(text, failure)
        self.text = text
        self.failure = failure

    def __str__(self) -> str:
        return self.text


class Fenced(Exception):
    """See above."""


class _Producer(KafkaProducer):
    """Raises the library's own errors: they say whether the transaction can go on."""

    def _failed(self, error: Any, topic: str) -> Exception:
        failure: Exception = self._library.KafkaException(error)
        return failure


def transaction_timeout_ms(cluster: KafkaCluster) -> int:
    return int(cluster.properties.get("transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS))


def delivery_timeout_ms(cluster: KafkaCluster) -> int:
    """No longer than the transaction may take."""
    most = transaction_timeout_ms(cluster)
    return min(most, int(cluster.settings.get("delivery.timeout.ms", most)))


class TransactionClient:
    """The transactions of one id, one after the other: `begin`, `send` ..., `mark`, `commit`."""

    def __init__(self, cluster: KafkaCluster, transactional_id: str) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._library = confluent()
        self._timeout_s = cluster.timeout_s
        self._what = ""
        self._begun_s = 0.0

    def open(self) -> None:
        """Makes the id ours alone, with no transaction of the past undecided."""
        self._producer = _Producer(
            self._cluster,
            {
                "transactional.id": self._id,
                "enable.idempotence": True,
                "acks": "all",
                "transaction.timeout.ms": transaction_timeout_ms(self._cluster),
                "delivery.timeout.ms": delivery_timeout_ms(self._cluster),
            },
        )
        try:
            self._producer.client.init_transactions(self._timeout_s)
        except self._library.KafkaException as error:
            self._producer.client.poll(0)  # now it says what it has to complain about
            what = f"cannot begin transactions with the id '{self._id}'"
            raise self._cluster.failed(what, error, self._producer.complaints) from None
        self._group = self._group_metadata()

    def _group_metadata(self) -> Any:
        """The library only knows the groups of consumers; this one never reads anything."""
        consumer = self._cluster.make(
            self._library.Consumer, {"group.id": self._id, "enable.auto.commit": False}
        )
        try:
            return consumer.consumer_group_metadata()
        finally:
            consumer.close()

    # --- one transaction

    def begin(self, what: str) -> None:
        """Begins a transaction; `what` says what has failed if it does."""
        self._what = what
        self._begun_s = time.monotonic()
        self._try(self._producer.client.begin_transaction)

    def send(self, block: bytes) -> None:
        """Queues a block of messages."""
        self._try(lambda: self._producer.send(decode_block(block)))

    def mark(self, topic: str, epoch: int, note: str) -> None:
        """Adds the mark. The library looks at no timeout here: if the group's broker goes down at the wrong moment
        the call never comes back."""
        # It must be in a partition that exists: one of those that are written.
        place = self._library.TopicPartition(topic, 0, epoch, note)
        send = self._producer.client.send_offsets_to_transaction
        self._try(lambda: send([place], self._group, self._timeout_s))

    def commit(self) -> None:
        """Commits; an answer that does not come is asked for again, which is safe."""
        self._try(self._commit)

    def _commit(self) -> None:
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                self._producer.client.commit_transaction(self._timeout_s)
                return
            except self._library.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def abort(self) -> None:
        try:
            self._producer.client.abort_transaction(self._timeout_s)
        except self._library.KafkaException as error:
            LOG.info("a transaction of '%s' could not be aborted: %s", self._id, error)

    # --- failures

    def _try(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except self._library.KafkaException as error:
            raise self._sorted_out(error.args[0]) from None

    def _sorted_out(self, error: Any) -> Exception:
        codes = self._library.KafkaError
        fenced = error.code() in (codes._FENCED, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_EPOCH)
        taken_ms = (time.monotonic() - self._begun_s) * 1000
        if fenced and taken_ms < transaction_timeout_ms(self._cluster):  # else the broker itself has done it
            return Fenced(str(error))
        if error.txn_requires_abort():
            self.abort()
        return Again(str(error), self._cluster.failed(self._what, error, self._producer.complaints))
