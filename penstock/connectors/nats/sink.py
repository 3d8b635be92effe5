"""Publishing to JetStream: a batch is sent in order, and is accepted when the stream has stored all of it.

At least once. A batch of which an acknowledgement is missing is sent again as a whole, so messages of a task stay in
order, and some may be there twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.async_sink import (
    RequestClient,
    Unavailable,
)
from penstock.connectors.nats.client import NatsAddress, NatsConnection, nats_library

__all__ = ["NatsTarget"]


@dataclass(frozen=True)
class NatsTarget:
    """Where messages go: a subject that a stream listens to."""

    address: NatsAddress
    subject: str

    @property
    def shown(self) -> str:
        return f"subject '{self.subject}' of {self.address.where}"

    def create_client(self) -> RequestClient:
        return PublishingClient(self)


class PublishingClient(RequestClient):
    """One connection."""

    takes_batches_whole = True

    def __init__(self, target: NatsTarget) -> None:
        self._target = target
        self._connection = NatsConnection(target.address)

    def submit(self, payloads: Sequence[bytes]) -> Sequence[int]:
        target, errors = self._target, nats_library().js.errors
        try:
            stream = self._connection.jetstream
            self._connection.call(_published(stream, target.subject, payloads))
        except errors.NoStreamResponseError as error:
            failure = ExternalSystemError(
                "no stream listens to the subject",
                where=target.shown,
                do="create a stream for it: nats stream add --subjects ...",
            )
            failure.retryable = False
            raise failure from error
        except self._connection.errors() as error:
            told = target.address.failed("cannot publish", error)
            if told.retryable:
                raise Unavailable(told.what) from error
            raise told from error
        except ExternalSystemError as error:
            if error.retryable:
                raise Unavailable(error.what) from error
            raise
        return ()

    def close(self) -> None:
        self._connection.close()


async def _published(stream: Any, subject: str, payloads: Sequence[bytes]) -> None:
    """Sends all, then waits for all acknowledgements."""
    waiting = [await stream.publish_async(subject, body) for body in payloads]
    await asyncio.gather(*waiting)
