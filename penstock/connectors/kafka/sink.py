"""`KafkaSink`: records to messages, with three promises.

NONE             sent; nobody waits for them
AT_LEAST_ONCE    sent by the tasks, and delivered before their epoch is committed. An epoch that is run again
                 writes them again
EXACTLY_ONCE     kept with the checkpoint, and published after it in transactions (`transactions.py`)
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.kafka.client import KafkaCluster, confluent
from penstock.connectors.kafka.producer import shared_producer
from penstock.connectors.kafka.records import Fields, encode_block
from penstock.connectors.kafka.serializer import KafkaRecordSerializationSchema
from penstock.connectors.kafka.transactions import KafkaCommitter, KafkaTransaction, Mark
from penstock.connectors.kept_output import BLOCK_BYTES, OutputBlocks
from penstock.connectors.sink import Committer, Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from penstock.connectors.kafka.sink_builder import KafkaSinkBuilder

__all__ = ["KafkaSink", "KafkaWriting", "MessageTarget"]


class KafkaWriting:
    """How messages are written; the same for programs and tables, and picklable."""

    def __init__(
        self,
        cluster: KafkaCluster,
        guarantee: DeliveryGuarantee,
        transactional_id_prefix: str | None = None,
    ) -> None:
        confluent()
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE and not transactional_id_prefix:
            raise ValidationError(
                "EXACTLY_ONCE needs a prefix for the ids of its transactions",
                do="call set_transactional_id_prefix, or set 'sink.transactional-id-prefix' in SQL, to something\n"
                "that no other sink of the cluster uses, and that stays the same when the job is started again",
            )
        if "transactional.id" in cluster.properties:
            raise ValidationError(
                "'transactional.id' cannot be set: every sink subtask has its own",
                do="set the prefix instead",
            )
        self.cluster = cluster
        self.guarantee = guarantee
        self.prefix = transactional_id_prefix or ""

    def target(self, context: WriterContext, restored: Sequence[str] = ()) -> MessageTarget:
        """Where the messages of one writer go; `restored` is what the targets of the epoch before have left."""
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return _Transaction(self, context, restored)
        return _Producer(self)

    def committer(self) -> Committer | None:
        exactly_once = self.guarantee is DeliveryGuarantee.EXACTLY_ONCE
        return KafkaCommitter(self.cluster) if exactly_once else None


class MessageTarget(ABC):
    """Takes the messages of one epoch and subtask, in order.

    `lineage` is for the target of the next epoch; see `transactions.py`.
    """

    @property
    def lineage(self) -> str | None:
        return None

    @abstractmethod
    def send(self, messages: Iterable[Fields]) -> None: ...

    @abstractmethod
    def finish(self, end_of_input: bool) -> Sequence[Any]:
        """All messages are there; gives what is left to commit."""


class _Producer(MessageTarget):
    """Sends at once."""

    def __init__(self, writing: KafkaWriting) -> None:
        self._waits = writing.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        self._producer = shared_producer(writing.cluster)

    def send(self, messages: Iterable[Fields]) -> None:
        self._producer.send(messages)

    def finish(self, end_of_input: bool) -> Sequence[Any]:
        if self._waits or end_of_input:
            self._producer.flush()
        return ()


class _Transaction(MessageTarget):
    """Keeps messages as blocks: few of them in the committable itself, more in files of the checkpoint."""

    def __init__(self, writing: KafkaWriting, context: WriterContext, restored: Sequence[str]) -> None:
        self._id = f"{writing.prefix}-{context.subtask_index}"
        self._lineage = restored[0] if restored else context.lineage or uuid.uuid4().hex
        self._context = context
        self._pending: list[Fields] = []
        self._pending_bytes = 0
        self._blocks = OutputBlocks(context.files, "messages")
        self._topics: dict[str, None] = {}
        self._count = 0

    @property
    def lineage(self) -> str | None:
        return self._lineage

    def send(self, messages: Iterable[Fields]) -> None:
        messages = messages if isinstance(messages, list) else list(messages)
        sizes = [
            64 + (len(value) if value else 0) + (len(key) if key else 0)
            for _, value, key, _, _, _ in messages
        ]
        self._topics.update(dict.fromkeys([message[0] for message in messages]))
        if self._pending_bytes + sum(sizes) < BLOCK_BYTES:  # as nearly always: all at once
            self._pending += messages
            self._pending_bytes += sum(sizes)
            return
        for message, size in zip(messages, sizes, strict=True):
            self._pending.append(message)
            self._pending_bytes += size
            if self._pending_bytes >= BLOCK_BYTES:
                self._store()

    def _store(self, last: bool = False) -> None:
        block = encode_block(self._pending)
        self._count += len(self._pending)
        self._pending, self._pending_bytes = [], 0
        self._blocks.add(block, last)

    def finish(self, end_of_input: bool) -> Sequence[Any]:
        if self._pending:
            self._store(last=True)
        if not self._count:
            return ()
        context, kept = self._context, self._blocks.kept()
        return (
            KafkaTransaction(
                self._id,
                Mark(self._lineage, context.epoch, context.attempt),
                context.processing_time_ms,
                self._count,
                tuple(self._topics),
                kept.files,
                kept.inline,
            ),
        )


class KafkaSink(Sink):
    """Writes a stream to topics; programs make one with `KafkaSink.builder()`."""

    def __init__(self, writing: KafkaWriting, serializer: KafkaRecordSerializationSchema) -> None:
        self.writing = writing
        self.serializer = serializer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begins a sink; it needs servers and a serializer."""
        from penstock.connectors.kafka.sink_builder import KafkaSinkBuilder

        return KafkaSinkBuilder()

    def get_transformer(self) -> Any:
        """Streams are written as they are: the topic is chosen by the sink."""
        return None

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> KafkaWriter:
        return KafkaWriter(self.writing.target(context, restored), self.serializer)

    def create_committer(self) -> Committer | None:
        return self.writing.committer()


class KafkaWriter(SinkWriter):
    """Records of a stream to messages."""

    def __init__(self, target: MessageTarget, serializer: KafkaRecordSerializationSchema) -> None:
        self._target = target
        self._serializer = serializer
        serializer.open()

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._target.send(self._serializer.messages(values, timestamps))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return self._target.finish(end_of_input)

    def snapshot(self) -> Any:
        return self._target.lineage
