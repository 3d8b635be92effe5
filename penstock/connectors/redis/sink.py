"""Commands to a server: of programs, which make them themselves, and of tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import TypeMismatchError
from penstock.connectors.async_sink import (
    DEFAULT_SETTINGS,
    AsyncSinkBase,
    AsyncSinkSettings,
    Request,
    RequestClient,
    RequestConverter,
)
from penstock.connectors.redis.client import Command, CommandClient, RedisAddress
from penstock.connectors.redis.layout import Layout, RowCommands
from penstock.connectors.request_table import ChangeConverter
from penstock.connectors.sink import WriterContext

__all__ = ["RedisElementSink", "RedisTableSink"]


class CommandSink(AsyncSinkBase):
    """What sinks of commands share: the server."""

    address: RedisAddress

    @property
    def system(self) -> str:
        return f"Redis at {self.address.shown}"

    @property
    def client_identity(self) -> Hashable:
        return self.address

    def create_client(self) -> RequestClient:
        return CommandClient(self.address)


@dataclass(frozen=True)
class RedisTableSink(CommandSink):
    """How rows are written."""

    address: RedisAddress
    layout: Layout
    key_places: tuple[int, ...] = ()
    changelog: bool = False
    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Rows(self)


class _Rows(ChangeConverter):
    def __init__(self, sink: RedisTableSink) -> None:
        super().__init__(sink.changelog, sink.key_places)
        self._commands = RowCommands(sink.layout, sink.key_places)
        self._one = (sink.layout.name,)

    def come(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        commands, size = self._commands.come(row, key)
        return Request(commands, size, key or self._one)

    def gone(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        return Request(self._commands.gone(key), 64, key)


@dataclass(frozen=True)
class RedisElementSink(CommandSink):
    """Elements of a program; a function makes a command of each, or several."""

    address: RedisAddress
    commands: Callable[[Any], Command | Iterable[Command]]
    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Elements(self.commands)


class _Elements(RequestConverter):
    """Commands about the same first argument, which is mostly a key, keep their order."""

    def __init__(self, commands: Callable[[Any], Command | Iterable[Command]]) -> None:
        self._commands = commands

    def convert(self, value: Any) -> Iterable[Request]:
        made = self._commands(value)
        commands = [made] if isinstance(made, tuple) else list(made or ())
        for command in commands:
            if not isinstance(command, tuple) or not command or not isinstance(command[0], str):
                raise TypeMismatchError(
                    f"a command is a tuple such as ('SET', 'key', 'value'), got {command!r}"
                )
        if not commands:
            return []
        size = sum(len(str(part)) for command in commands for part in command)
        return [Request(commands, size, str(commands[0][1]) if len(commands[0]) > 1 else None)]
