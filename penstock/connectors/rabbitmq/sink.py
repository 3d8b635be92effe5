"""Publishing messages: a batch is a transaction of the channel, so the broker has all of it or nothing.

Messages go over one connection of a task, in order. They are persistent: a durable queue keeps them when the broker
is started again. A message that no queue takes is an error, not a loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.async_sink import (
    RequestClient,
    Unavailable,
)
from penstock.connectors.rabbitmq.client import RabbitAddress, declare, pika_library

__all__ = ["RabbitTarget"]

_PERSISTENT = 2


@dataclass(frozen=True)
class RabbitTarget:
    """Where messages go: a queue, which is made if it is not there, or an exchange with a routing key."""

    address: RabbitAddress
    exchange: str = ""
    routing_key: str = ""

    @property
    def shown(self) -> str:
        to = f"exchange '{self.exchange}' with key" if self.exchange else "queue"
        return f"{to} '{self.routing_key}' of RabbitMQ at {self.address.shown}"

    def create_client(self) -> RequestClient:
        return PublishingClient(self)


class PublishingClient(RequestClient):
    """One connection."""

    takes_batches_whole = True

    def __init__(self, target: RabbitTarget) -> None:
        self._target = target
        self._connection: Any = None
        self._channel: Any = None
        self._returned: list[str] = []

    def submit(self, payloads: Sequence[bytes]) -> Sequence[int]:
        target, pika = self._target, pika_library()
        try:
            channel = self._ready()
            properties = pika.BasicProperties(delivery_mode=_PERSISTENT)
            for body in payloads:
                channel.basic_publish(target.exchange, target.routing_key, body, properties, mandatory=True)
            channel.tx_commit()
            self._connection.process_data_events(0)  # messages that came back are there before the answer
        except target.address.errors() as error:
            failure = target.address.failed("cannot publish", error)
            if failure.retryable:
                raise Unavailable(failure.what) from error
            raise failure from error
        if self._returned:
            reason, self._returned = self._returned[0], []
            raise self._unroutable(reason)
        return ()

    def _ready(self) -> Any:
        if self._connection is not None and self._connection.is_open and self._channel.is_open:
            return self._channel
        self.close()
        self._connection = self._target.address.connect()
        channel = self._connection.channel()
        if not self._target.exchange:
            declare(channel, self._target.routing_key)
        channel.tx_select()
        channel.add_on_return_callback(
            lambda ch, method, props, body: self._returned.append(method.reply_text)
        )
        self._channel = channel
        return channel

    def _unroutable(self, reason: str) -> ExternalSystemError:
        error = ExternalSystemError(
            f"no queue takes the messages: {reason}",
            where=self._target.shown,
            do="bind a queue to the exchange with this routing key",
        )
        error.retryable = False
        return error

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and connection.is_open:
            try:
                connection.close()
            except self._target.address.errors():
                pass
