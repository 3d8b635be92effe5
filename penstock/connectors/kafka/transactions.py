"""Exactly once: the messages of an epoch are published in one transaction for each sink subtask, once.

A transaction of Kafka's cannot be handed from a task to the driver, nor be taken up again after a crash. So tasks
open none: they leave the epoch's messages with the checkpoint, and when that is durable the driver has them published
by clients in processes beside it (`apart.py`, `transaction_client.py`),

    init_transactions     fences everybody else who used the id, and settles what they left: aborted, or committed
    look at the mark      it names the last epoch that was published with this id; if it is this one, that is all
    begin, send, mark, commit

The mark is an offset that the transaction commits to the group with the id's own name. It becomes visible with the
messages or not at all. So whatever happens (the driver or the client dies at any line, the answer to a commit is
lost, the broker aborts a transaction that took too long), either the mark is there, and the messages are, or neither
is, and they are sent again from the checkpoint, which keeps them.

A mark names the very try of the epoch that was published, and the *lineage*: an id that a sink subtask gets when
its job starts from nothing and that checkpoints carry on. So a job that is started anew, with the same name and
numbers, is never taken for the one before. A mark of the same lineage and a later epoch says that a driver that
took over has gone on, or that this job was set back to an older checkpoint: then what is right cannot be known, and
nothing is published.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError, PenstockError
from penstock.connectors.kafka.admin import KafkaAdmin
from penstock.connectors.kafka.apart import Apart, ClientLost
from penstock.connectors.kafka.client import KafkaCluster
from penstock.connectors.kafka.transaction_client import (
    Again,
    Fenced,
    TransactionClient,
    delivery_timeout_ms,
)
from penstock.connectors.sink import Committer, StoredOutput

LOG = logging.getLogger(__name__)
UNKNOWN_OUTCOME = "penstock.unknown-outcome"
"""A setting: what to do with an epoch of which nobody knows any more whether it was published."""
_OFFSETS_KEPT_MS = 7 * 24 * 3600 * 1000
"""How long brokers keep the offsets of a group without members (offsets.retention.minutes)."""
_ATTEMPTS = 3
_MARK_PATIENCE_S = 7.0
"""A mark is one small request. The library waits for it without end when the group's broker goes down meanwhile. A
broker may also be slow, so each attempt waits three times as long as the one before."""
_GRACE_S = 30.0
"""How much longer than its own timeouts a client may take to say that they were exceeded."""
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

    def blocks(self) -> Iterator[bytes]:
        """The messages in order, a block in memory at a time."""
        for file in self.files:
            yield file.read()
        yield from self.inline


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
        if self._admin is not None:
            self._admin.close()
            self._admin = None
        self._publishers = {}


class _Publisher:
    """The transactions of one id, one after the other."""

    def __init__(self, cluster: KafkaCluster, transactional_id: str, admin: KafkaAdmin) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._admin = admin
        self._client: Apart | None = None
        self._marks: set[Mark] = set()

    def publish(self, transactions: Sequence[KafkaTransaction]) -> None:
        for transaction in transactions:
            self._publish(transaction)
            for file in transaction.files:
                file.release()

    def _publish(self, transaction: KafkaTransaction) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                client = self._ready(transaction)
                if transaction.mark in self._marks:
                    LOG.info("epoch %d of '%s' was published before", transaction.epoch, self._id)
                    return
                left_out = self._doubt(transaction, self._marks) and self._decision(transaction) == "skip"
                patience_s = min(self._cluster.timeout_s, _MARK_PATIENCE_S * 3 ** (attempt - 1))
                self._send(client, transaction, () if left_out else transaction.blocks(), patience_s)
                self._marks = {transaction.mark}
                return
            except (Again, ClientLost) as again:
                self.forget()
                if attempt == _ATTEMPTS:
                    raise self._failed(transaction, again) from None
                LOG.warning("epoch %d of '%s' is published again: %s", transaction.epoch, self._id, again)

    def forget(self) -> None:
        """Lets the client go; the next one settles what is left of its transaction."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    # --- the client

    def _ready(self, transaction: KafkaTransaction) -> Apart:
        """A client whose id is ours alone, with no transaction of the past undecided."""
        if self._client is not None:
            return self._client
        # Before anybody is fenced: whoever is behind must not stop who is ahead. A transaction that a dead driver
        # left open is still undecided here; it ends below.
        if self._doubt(transaction, self._found_marks(settled=False)):
            self._decision(transaction)
        client = Apart(TransactionClient, self._cluster, self._id)
        client.call("open", timeout_s=self._cluster.timeout_s + _GRACE_S)
        self._marks = self._found_marks()
        self._client = client
        return client

    def _found_marks(self, settled: bool = True) -> set[Mark]:
        committed = self._admin.committed(self._id, settled=settled)
        notes = (Mark.parse(note) for _, note in committed.values())
        return {mark for mark in notes if mark is not None}

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
        self, client: Apart, transaction: KafkaTransaction, blocks: Iterable[bytes], mark_s: float
    ) -> None:
        """One transaction: the messages and the mark. A mark alone lets the next epochs go on."""
        timeout_s = self._cluster.timeout_s
        try:
            client.call("begin", self._not_published(transaction), timeout_s=_GRACE_S)
            self._send_blocks(client, blocks)
            mark = transaction.topics[0], transaction.epoch, str(transaction.mark)
            client.call("mark", *mark, timeout_s=mark_s)
            client.call("commit", timeout_s=2 * timeout_s + _GRACE_S)
        except Fenced:
            self.forget()
            raise self._somebody_else(transaction) from None
        except PenstockError:
            with suppress(ClientLost):
                client.call("abort", timeout_s=timeout_s + _GRACE_S)
            self.forget()
            raise

    def _send_blocks(self, client: Apart, blocks: Iterable[bytes]) -> None:
        """Reads a block while the client sends the one before."""
        patience_s = delivery_timeout_ms(self._cluster) / 1000 + _GRACE_S
        sent: Callable[[], Any] | None = None
        for block in blocks:
            before, sent = sent, client.ask("send", block, timeout_s=patience_s)
            if before is not None:
                before()
        if sent is not None:
            sent()

    # --- failures

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

    def _not_published(self, transaction: KafkaTransaction) -> str:
        topics = ", ".join(transaction.topics)
        return f"epoch {transaction.epoch} cannot be published in {topics} with the transactional id '{self._id}'"

    def _failed(self, transaction: KafkaTransaction, again: Again | ClientLost) -> PenstockError:
        if isinstance(again, Again):
            return again.failure
        error = ExternalSystemError(
            f"{self._not_published(transaction)}: {again}",
            where=f"Kafka cluster {self._cluster.servers}",
            do="look at the brokers; the job's restart strategy tries again",
        )
        error.retryable = True
        return error
