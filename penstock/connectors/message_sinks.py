"""Sinks that publish messages to a queue, a topic or a subject: one after the other, so that their order is kept.

What differs between systems is the *target*: where messages go, and the client that publishes them there.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from penstock.common.serialization import SerializationSchema
from penstock.connectors.async_sink import AsyncSinkBase, AsyncSinkSettings, RequestClient, RequestConverter
from penstock.connectors.message_bodies import ElementBodies, RowBodies
from penstock.connectors.message_part import MessagePart
from penstock.connectors.sink import WriterContext

__all__ = ["ONE_AFTER_THE_OTHER", "ElementMessageSink", "MessageTarget", "RowMessageSink"]

ONE_AFTER_THE_OTHER = AsyncSinkSettings(max_in_flight_requests=1)


class MessageTarget(Protocol):
    """Where messages go. Equal targets share a client in a worker."""

    @property
    def shown(self) -> str:
        """For people, without secrets."""

    def create_client(self) -> RequestClient:
        """Connects when it is first used."""

    def __hash__(self) -> int: ...


class _PublishingSink(AsyncSinkBase):
    target: MessageTarget

    @property
    def system(self) -> str:
        return self.target.shown

    @property
    def client_identity(self) -> Hashable:
        return self.target

    def create_client(self) -> RequestClient:
        return self.target.create_client()


@dataclass(frozen=True)
class ElementMessageSink(_PublishingSink):
    """Elements of a program."""

    target: MessageTarget
    schema: SerializationSchema
    settings: AsyncSinkSettings = ONE_AFTER_THE_OTHER

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return ElementBodies(self.schema)


@dataclass(frozen=True)
class RowMessageSink(_PublishingSink):
    """Rows of a table, or changes in a format of changes."""

    target: MessageTarget
    message: MessagePart
    changelog: bool = False
    settings: AsyncSinkSettings = ONE_AFTER_THE_OTHER

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return RowBodies(self.message, self.changelog)
