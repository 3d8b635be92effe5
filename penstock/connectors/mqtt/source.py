"""`MqttSource`: the messages of topics, at least once; they are acknowledged when their epoch is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.held_queue import HeldQueueSource, Message, QueueConsumer
from penstock.connectors.message_bodies import Decode
from penstock.connectors.mqtt.client import MqttAddress, mqtt_library
from penstock.connectors.mqtt.consumer import MqttConsumer

__all__ = ["DEFAULT_PREFETCH", "DEFAULT_SESSION_S", "MqttTopicSource"]

DEFAULT_PREFETCH = 10_000
DEFAULT_SESSION_S = 24 * 3600


@dataclass(frozen=True)
class MqttTopicSource(HeldQueueSource):
    """Reads topics, or patterns of topics.

    Attributes:
        client_id: The name of the session at the broker; no two jobs may have the same.
        keep_session_s: How long the broker keeps messages for a job that is away.
        topic_at: Where in a row the message's topic is put; None: nowhere.
    """

    address: MqttAddress
    topics: tuple[str, ...]
    decoder: Callable[[], Decode]
    client_id: str
    qos: int = 1
    prefetch: int = DEFAULT_PREFETCH
    keep_session_s: int = DEFAULT_SESSION_S
    topic_at: int | None = None
    type_info: TypeInformation | None = None

    def __post_init__(self) -> None:
        mqtt_library()
        if not self.topics:
            raise ValidationError("there is no topic to read", do="name one or several")
        if not self.client_id:
            raise ValidationError(
                "there is no client id: the broker could not know the job again, and would forget what it has not "
                "read",
                do="give one that no other client of the broker has",
            )
        if not 0 < self.prefetch <= 65_535:
            raise ValidationError(f"the prefetch count is {self.prefetch}", do="use a number from 1 to 65535")

    @property
    def queue(self) -> str:  # type: ignore[override]
        return ", ".join(self.topics)

    @property
    def where(self) -> str:
        return f"topic '{self.queue}', {self.address.where}"

    def consumer(self, known: Callable[[str | None], bool]) -> QueueConsumer:
        return MqttConsumer(
            self.address, self.topics, self.qos, self.client_id, self.prefetch, self.keep_session_s
        )

    def records(self, decode: Decode, message: Message) -> Sequence[Any]:
        found, at = decode(message.body), self.topic_at
        if at is None:
            return found
        return [(*row[:at], message.topic, *row[at:]) for row in found]
