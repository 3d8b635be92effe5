"""`RabbitSource`: the messages of a queue, acknowledged when their epoch is committed (`held_queue.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.held_queue import HeldQueueSource, QueueConsumer
from penstock.connectors.message_bodies import Decode
from penstock.connectors.rabbitmq.client import RabbitAddress, pika_library
from penstock.connectors.rabbitmq.consumer import RabbitConsumer

__all__ = ["DEFAULT_PREFETCH", "RabbitSource"]

DEFAULT_PREFETCH = 10_000


@dataclass(frozen=True)
class RabbitSource(HeldQueueSource):
    """Reads a queue, at least once; exactly once with correlation ids, as in Flink."""

    address: RabbitAddress
    queue: str
    decoder: Callable[[], Decode]
    correlation_ids: bool = False
    prefetch: int = DEFAULT_PREFETCH
    type_info: TypeInformation | None = None

    def __post_init__(self) -> None:
        pika_library()
        if not 0 < self.prefetch <= 65_535:
            raise ValidationError(f"the prefetch count is {self.prefetch}", do="use a number from 1 to 65535")

    @property
    def where(self) -> str:
        return f"queue '{self.queue}' of RabbitMQ at {self.address.shown}"

    def consumer(self, known: Callable[[str | None], bool]) -> QueueConsumer:
        return RabbitConsumer(self.address, self.queue, self.prefetch, known)
