"""Publishing messages: a batch is a transaction of the channel, so the broker has all of it or nothing.

Messages go over one connection of a task, in order. They are persistent: a durable queue keeps them when the broker
is started again. A message that no queue takes is an error, not a loss.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.common.serialization import SerializationSchema
from penstock.connectors.async_sink import (
    AsyncSinkBase,
    AsyncSinkSettings,
    Request,
    RequestClient,
    RequestConverter,
    Unavailable,
)
from penstock.connectors.message_part import MessagePart
from penstock.connectors.rabbitmq.client import RabbitAddress, declare, pika_library
from penstock.connectors.sink import WriterContext
from penstock.formats.base import INSERT

__all__ = ["ONE_AFTER_THE_OTHER", "RabbitElementSink", "RabbitTableSink", "RabbitTarget"]

ONE_AFTER_THE_OTHER = AsyncSinkSettings(max_in_flight_requests=1)
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


class PublishingSink(AsyncSinkBase):
    """What sinks of messages share: where they go."""

    target: RabbitTarget

    @property
    def system(self) -> str:
        return self.target.shown

    @property
    def client_identity(self) -> Hashable:
        return self.target

    def create_client(self) -> RequestClient:
        return PublishingClient(self.target)


@dataclass(frozen=True)
class RabbitElementSink(PublishingSink):
    """Elements of a program."""

    target: RabbitTarget
    schema: SerializationSchema
    settings: AsyncSinkSettings = ONE_AFTER_THE_OTHER

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Elements(self.schema)


class _Elements(RequestConverter):
    def __init__(self, schema: SerializationSchema) -> None:
        self._schema = schema
        schema.open()

    def convert(self, value: Any) -> Iterable[Request]:
        body = self._schema.serialize(value)
        return [] if body is None else [Request(body, len(body))]


@dataclass(frozen=True)
class RabbitTableSink(PublishingSink):
    """Rows of a table, or changes in a format of changes."""

    target: RabbitTarget
    message: MessagePart
    changelog: bool = False
    settings: AsyncSinkSettings = ONE_AFTER_THE_OTHER

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Rows(self)


class _Rows(RequestConverter):
    def __init__(self, sink: RabbitTableSink) -> None:
        self._changelog = sink.changelog
        self._encoder = sink.message.encoder()

    def convert(self, value: Any) -> Iterable[Request]:
        row, kind = (value[:-1], value[-1]) if self._changelog else (value, INSERT)
        body = self._encoder.encode(kind, row)
        return [Request(body, len(body))]
