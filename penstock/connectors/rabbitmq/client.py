"""A RabbitMQ broker: how to get there, errors that say what to do."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from penstock.common.errors import ExternalSystemError, MissingDependencyError, ValidationError

__all__ = ["RabbitAddress", "declare", "pika_library"]


def pika_library() -> Any:
    """The package pika, or an error that says what to install."""
    try:
        import pika
    except ImportError:
        raise MissingDependencyError(
            "RabbitMQ needs the package pika", do="pip install 'penstock[rabbitmq]'"
        ) from None
    return pika


@dataclass(frozen=True)
class RabbitAddress:
    """Where a broker is: `amqp://user:password@host:5672/virtual-host`, `amqps://` with TLS."""

    uri: str = field(repr=False)
    connection_timeout_s: float = 10.0
    heartbeat_s: int | None = None
    ca_file: str | None = None

    def __post_init__(self) -> None:
        if urlsplit(self.uri).scheme not in ("amqp", "amqps"):
            raise ValidationError(
                f"the address is {self.shown!r}", do="write it as amqp://user:password@host:5672/"
            )

    @staticmethod
    def of_parts(host: str, port: int, virtual_host: str, user: str, password: str) -> str:
        """The parts of an address as one text."""
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
        return f"amqp://{login}@{host}:{port}/{quote(virtual_host, safe='')}"

    @property
    def shown(self) -> str:
        """The address without its password."""
        head, at, rest = self.uri.rpartition("@")
        return f"{head.partition('://')[0]}://{rest}" if at else self.uri

    def connect(self) -> Any:
        """A connection that is used by one thread."""
        pika = pika_library()
        parameters = pika.URLParameters(self.uri)
        parameters.socket_timeout = parameters.stack_timeout = self.connection_timeout_s
        parameters.blocked_connection_timeout = 60
        if self.heartbeat_s is not None:
            parameters.heartbeat = self.heartbeat_s
        if self.ca_file is not None:
            context = ssl.create_default_context(cafile=self.ca_file)
            parameters.ssl_options = pika.SSLOptions(context, parameters.host)
        return pika.BlockingConnection(parameters)

    def errors(self) -> tuple[type[Exception], ...]:
        """What the library raises when a connection cannot be made, or is lost."""
        return (pika_library().exceptions.AMQPError, OSError)

    def failed(self, what: str, error: BaseException) -> ExternalSystemError:
        """The library's errors as ours."""
        exceptions = pika_library().exceptions
        refused = isinstance(error, (exceptions.AuthenticationError, exceptions.ProbableAuthenticationError))
        reason = " ".join(str(error).split()) or type(error).__name__
        failure = ExternalSystemError(
            f"{what}: {reason}",
            where=f"RabbitMQ at {self.shown}",
            do="check user name, password and virtual host" if refused else None,
        )
        failure.retryable = not (refused or isinstance(error, exceptions.ChannelClosedByBroker))
        return failure


def declare(channel: Any, queue: str) -> None:
    """Makes the queue if it is not there: durable, as Flink's connector does."""
    channel.queue_declare(queue, durable=True, exclusive=False, auto_delete=False)
