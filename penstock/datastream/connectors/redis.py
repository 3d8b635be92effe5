"""Redis. Flink itself has no such connector: the names are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.async_sink import DEFAULT_SETTINGS, AsyncSinkSettings
from penstock.connectors.redis.client import Command, RedisAddress, redis_library
from penstock.connectors.redis.sink import RedisElementSink
from penstock.connectors.sink import Sink, SinkWriter, WriterContext

__all__ = ["AsyncSinkSettings", "RedisSink", "RedisSinkBuilder"]


class RedisSink(Sink):
    """Executes commands for each element of a stream, at least once; made by `RedisSink.builder()`."""

    def __init__(self, sink: RedisElementSink) -> None:
        self._sink = sink

    @staticmethod
    def builder() -> RedisSinkBuilder:
        """Begins a sink; a URL and a command are needed.

        Example:
            ```python
            sink = (
                RedisSink.builder()
                .set_url("redis://cache:6379/0")
                .set_command(lambda order: ("SET", f"order:{order.id}", order.total))
                .build()
            )
            ```
        """
        return RedisSinkBuilder()

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        return self._sink.create_writer(context, restored)


class RedisSinkBuilder:
    """Settings of a `RedisSink`."""

    def __init__(self) -> None:
        self._url: str | None = None
        self._login: tuple[str | None, str | None] = (None, None)
        self._commands: Callable[[Any], Command | Iterable[Command]] | None = None
        self._settings = DEFAULT_SETTINGS

    def set_url(self, url: str) -> RedisSinkBuilder:
        """`redis://host:6379/0`, `rediss://` with TLS, `unix://` a socket."""
        self._url = url
        return self

    def set_login(self, username: str | None, password: str) -> RedisSinkBuilder:
        """User name and password; the name is None on servers that have passwords alone."""
        self._login = (username, password)
        return self

    def set_command(self, command: Callable[[Any], Command | Iterable[Command]]) -> RedisSinkBuilder:
        """A function from an element to a command, a tuple such as ("SET", key, value), or to several of them.

        Several are executed together. Commands about the same key keep their order.
        """
        self._commands = command
        return self

    def set_settings(self, settings: AsyncSinkSettings) -> RedisSinkBuilder:
        """Commands of a batch, batches under way, retries, pauses."""
        self._settings = settings
        return self

    def build(self) -> RedisSink:
        """The sink.

        Raises:
            ValidationError: There is no address, or nothing that makes commands.
        """
        redis_library()
        if self._url is None:
            raise ValidationError("there is no server to write to", do="call set_url")
        if self._commands is None:
            raise ValidationError("nothing makes commands", do="call set_command")
        return RedisSink(
            RedisElementSink(RedisAddress(self._url, *self._login), self._commands, self._settings)
        )
