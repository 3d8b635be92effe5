"""Exactly once: the messages of an epoch are published in one transaction for each sink subtask, once.

A transaction of Kafka's cannot be handed from a task to the driver, nor be taken up again after a crash. So tasks
open none: they leave the epoch's messages with the checkpoint, and when that is durable the driver publishes them,

    init_transactions     fences everybody else who used the id, and settles what they left: aborted, or committed
    look at the mark      it names the last epoch that was published with this id; if it is this one, that is all
    begin, send, mark, commit

The mark is an offset that the transaction commits to the group with the id's own name. It becomes visible with the
messages or not at all. So whatever happens (the driver dies at any line, the answer to a commit is lost, the broker
aborts a transaction that took too long), either the mark is there, and the messages are, or neither is, and they are
sent again from the checkpoint, which keeps them.

A mark names the very try of the epoch that was published, and the *lineage*: an id that a sink subtask gets when
its job starts from nothing and that checkpoints carry on. So a job that is started anew, with the same name and
numbers, is never taken for the one before. A mark of the same lineage and a later epoch says that a driver that
took over has gone on, or that this job was set back to an older checkpoint: then what is right cannot be known, and
nothing is published.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError, PenstockError
from penstock.connectors.kafka.admin import KafkaAdmin
from penstock.connectors.kafka.client import KafkaCluster, confluent
from penstock.connectors.kafka.producer import KafkaProducer
from penstock.connectors.kafka.records import Fields, decode_block
from penstock.connectors.sink import Committer, StoredOutput

LOG = logging.getLogger(__name__)
UNKNOWN_OUTCOME = "penstock.unknown-outcome"
"""A setting: what to do with an epoch of which nobody knows any more whether it was published."""
_TRANSACTION_TIMEOUT_MS = 300_000
_OFFSETS_KEPT_MS = 7 * 24 * 3600 * 1000
"""How long brokers keep the offsets of a group without members (offsets.retention.minutes)."""
_ATTEMPTS = 3
_MARK_PATIENCE_S = 6.0
_AT_ONCE = 8


@dataclass(frozen=True)
class Mark:
    """Which transaction was published; no two have the same."""

    lineage: str
    epoch: int
    attempt: str

    def __str__(self) -> str:
        return f"penstock/{self.lineage}/{self.epoch}/{self.attempt}"

    @staticmethod
    def parse(note: str) -> Mark | None:
        parts = note.split("/", 3)
        if len(parts) != 4 or parts[0] != "penstock" or not parts[2].isdigit():
            return None
        return Mark(parts[1], int(parts[2]), parts[3])


@dataclass(frozen=True)
class KafkaTransaction:
    """What one subtask writes in one epoch.

    Attributes:
        transactional_id: Prefix and subtask: also the group in which the mark is.
        files, inline: The messages, as blocks, in this order.
    """

    transactional_id: str
    mark: Mark
    prepared_ms: int
    count: int
    topics: tuple[str, ...]
    files: tuple[StoredOutput, ...] = ()
    inline: tuple[bytes, ...] = ()

    @property
    def epoch(self) -> int:
        return self.mark.epoch

    def messages(self) -> Iterator[Fields]:
        """The messages in order, a block in memory at a time."""
        for file in self.files:
            yield from decode_block(file.read())
        for block in self.inline:
            yield from decode_block(block)


class KafkaCommitter(Committer):
    """Publishes the transactions of an epoch, those of different subtasks at the same time."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._publishers: dict[str, _Publisher] = {}
        self._admin: KafkaAdmin | None = None

    def commit(self, committables: Sequence[Any]) -> None:
        work: dict[_Publisher, list[KafkaTransaction]] = {}
        for transaction in sorted(committables, key=lambda t: t.epoch):
            work.setdefault(self._publisher(transaction.transactional_id), []).append(transaction)
        if len(work) <= 1:
            for publisher, transactions in work.items():
                publisher.publish(transactions)
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(work)), "penstock-kafka-commit") as pool:
            done = [pool.submit(publisher.publish, items) for publisher, items in work.items()]
        for future in done:
            future.result()

    def _publisher(self, transactional_id: str) -> _Publisher:
        if self._admin is None:
            self._admin = KafkaAdmin(self._cluster)
        if transactional_id not in self._publishers:
            self._publishers[transactional_id] = _Publisher(self._cluster, transactional_id, self._admin)
        return self._publishers[transactional_id]

    def close(self) -> None:
        for publisher in self._publishers.values():
            publisher.forget()


class _Again(Exception):
    """The transaction was aborted, or nobody knows: it may be tried again after a look at the mark."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


class _TransactionalProducer(KafkaProducer):
    """Raises the library's own errors: they say whether the transaction can go on."""

    def _failed(self, error: Any, topic: str) -> Exception:
        failure: Exception = self._library.KafkaException(error)
        return failure


class _Publisher:
    """The transactions of one id, one after the other."""

    def __init__(self, cluster: KafkaCluster, transactional_id: str, admin: KafkaAdmin) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._admin = admin
        self._library = confluent()
        self._producer: KafkaProducer | None = None
        self._group: Any = None
        self._marks: set[Mark] = set()

    def publish(self, transactions: Sequence[KafkaTransaction]) -> None:
        for transaction in transactions:
            self._publish(transaction)
            for file in transaction.files:
                file.release()

    def _publish(self, transaction: KafkaTransaction) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                producer = self._ready(transaction)
                if transaction.mark in self._marks:
                    LOG.info("epoch %d of '%s' was published before", transaction.epoch, self._id)
                    return
                left_out = self._doubt(transaction, self._marks) and self._decision(transaction) == "skip"
                self._send(producer, transaction, () if left_out else transaction.messages())
                self._marks = {transaction.mark}
                return
            except _Again as again:
                self.forget()
                if attempt == _ATTEMPTS:
                    raise self._failed(transaction, again.error) from None
                LOG.warning("epoch %d of '%s' is published again: %s", transaction.epoch, self._id, again)

    def forget(self) -> None:
        """Lets the client go; the next one settles what is left of its transaction."""
        self._producer = None

    # --- the client

    def _ready(self, transaction: KafkaTransaction) -> KafkaProducer:
        """A producer whose id is ours alone, with no transaction of the past undecided."""
        if self._producer is not None:
            return self._producer
        # Before anybody is fenced: whoever is behind must not stop who is ahead. A transaction that a dead driver
        # left open is still undecided here; it ends below.
        if self._doubt(transaction, self._found_marks(settled=False)):
            self._decision(transaction)
        timeout_ms = self._timeout_ms
        producer = _TransactionalProducer(
            self._cluster,
            {
                "transactional.id": self._id,
                "enable.idempotence": True,
                "acks": "all",
                "transaction.timeout.ms": timeout_ms,
                "delivery.timeout.ms": min(
                    timeout_ms, int(self._cluster.settings.get("delivery.timeout.ms", timeout_ms))
                ),
            },
        )
        try:
            producer.client.init_transactions(self._cluster.timeout_s)
        except self._library.KafkaException as error:
            producer.client.poll(0)
            what = f"cannot begin transactions with the id '{self._id}'"
            raise self._cluster.failed(what, error, producer.complaints) from None
        if self._group is None:
            self._group = self._group_metadata()
        self._marks = self._found_marks()
        self._producer = producer
        return producer

    def _found_marks(self, settled: bool = True) -> set[Mark]:
        committed = self._admin.committed(self._id, settled=settled)
        notes = (Mark.parse(note) for _, note in committed.values())
        return {mark for mark in notes if mark is not None}

    @property
    def _timeout_ms(self) -> int:
        return int(self._cluster.properties.get("transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS))

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

    def _doubt(self, transaction: KafkaTransaction, marks: set[Mark]) -> str:
        """Why nobody can know whether the messages are there; empty if it is known."""
        mine = transaction.mark
        if mine in marks:
            return ""
        ahead = [m for m in marks if m.lineage == mine.lineage and m.epoch >= mine.epoch]
        if ahead:
            return f"epoch {ahead[0].epoch} of this job was published before it"
        age_ms = time.time() * 1000 - transaction.prepared_ms
        if not marks and age_ms > _OFFSETS_KEPT_MS:
            return "it is so old that the brokers may have forgotten"
        return ""

    def _decision(self, transaction: KafkaTransaction) -> str:
        """What the user has decided about an epoch of which nobody can know.

        Raises:
            ExternalSystemError: Nothing.
        """
        decided = self._cluster.properties.get(UNKNOWN_OUTCOME, "")
        if decided in ("skip", "publish"):
            return decided
        why = self._doubt(transaction, self._found_marks(settled=False))
        error = ExternalSystemError(
            f"nobody knows whether epoch {transaction.epoch} was published with the transactional id '{self._id}': "
            f"{why}",
            where=f"Kafka cluster {self._cluster.servers}",
            do="if another driver of this job is running, all is well: that one goes on. If not, look whether the\n"
            f"{transaction.count} messages are in {', '.join(transaction.topics)}, and set the property "
            f"'{UNKNOWN_OUTCOME}' of the\nsink to 'skip' if they are, to 'publish' if they are not",
        )
        error.retryable = False
        raise error

    def _send(
        self, producer: KafkaProducer, transaction: KafkaTransaction, messages: Iterable[Fields]
    ) -> None:
        """One transaction: the messages and the mark. A mark alone lets the next epochs go on."""
        begun = time.monotonic()
        try:
            producer.client.begin_transaction()
            producer.send(messages)
            # The mark must be in a partition that exists: one of those that are written.
            mark = self._library.TopicPartition(
                transaction.topics[0], 0, transaction.epoch, str(transaction.mark)
            )
            self._send_mark(producer, mark)
            self._commit(producer)
        except self._library.KafkaException as error:
            self._sort_out(producer, error.args[0], transaction, begun)
        except PenstockError:
            self._abort(producer)
            self.forget()
            raise

    def _send_mark(self, producer: KafkaProducer, mark: Any) -> None:
        """Adds the mark to the transaction.

        librdkafka looks at no timeout here: if the group's broker goes down at the wrong moment the call never comes
        back (seen with 2.16). So it is made on a thread that is left behind then, with its client: the next client
        with this id fences it.
        """
        patience_s = min(self._cluster.timeout_s, _MARK_PATIENCE_S)
        done: Future[None] = Future()

        def send() -> None:
            try:
                producer.client.send_offsets_to_transaction([mark], self._group, patience_s)
                done.set_result(None)
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=send, name="penstock-kafka-mark", daemon=True).start()
        try:
            done.result(patience_s + 1)
        except FutureTimeout:
            codes = self._library.KafkaError
            raise _Again(codes(codes._TIMED_OUT, "the brokers did not take the transaction's mark")) from None

    def _commit(self, producer: KafkaProducer) -> None:
        """Commits; an answer that does not come is asked for again, which is safe."""
        deadline = time.monotonic() + self._cluster.timeout_s
        while True:
            try:
                producer.client.commit_transaction(self._cluster.timeout_s)
                return
            except self._library.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _sort_out(
        self, producer: KafkaProducer, error: Any, transaction: KafkaTransaction, begun: float
    ) -> None:
        codes = self._library.KafkaError
        fenced = error.code() in (codes._FENCED, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_EPOCH)
        if fenced and (time.monotonic() - begun) * 1000 < self._timeout_ms:
            self.forget()
            raise self._somebody_else(transaction)
        if error.txn_requires_abort():
            self._abort(producer)
        raise _Again(error)

    def _abort(self, producer: KafkaProducer) -> None:
        try:
            producer.client.abort_transaction(self._cluster.timeout_s)
        except self._library.KafkaException as error:
            LOG.debug("a transaction of '%s' could not be aborted: %s", self._id, error)

    def _somebody_else(self, transaction: KafkaTransaction) -> PenstockError:
        error = ExternalSystemError(
            f"another program has taken over the transactional id '{self._id}'; epoch {transaction.epoch} is not "
            "published by this one",
            where=f"Kafka cluster {self._cluster.servers}",
            do="if this job was started again elsewhere, all is well: that one goes on. If not, give every sink\n"
            "of the cluster a transactional id prefix of its own",
        )
        error.retryable = False
        return error

    def _failed(self, transaction: KafkaTransaction, error: Any) -> PenstockError:
        complaints = None if self._producer is None else self._producer.complaints
        topics = ", ".join(transaction.topics)
        what = f"epoch {transaction.epoch} cannot be published in {topics} with the transactional id '{self._id}'"
        return self._cluster.failed(what, error, complaints)
