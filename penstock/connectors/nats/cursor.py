"""The messages of a stream between two sequence numbers, inside a task.

Numbers have holes: messages of other subjects, deleted ones, expired ones. So the end of a read is reached by a
message at or behind it, or by the server's word that nothing is left for this reader.

The server keeps a short-lived consumer for a cursor, which asks for batches and acknowledges nothing: where reading
stands is known by the checkpoint alone. A cursor stays where it is between epochs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.nats.client import NatsAddress, NatsConnection, nats_library

__all__ = ["StreamCursor"]

_BATCH = 1000
_WAIT_S = 0.5
_INACTIVE_S = 120.0

Messages = list[Any]


class StreamCursor:
    """Reads the messages of a stream, those of one subject or of a pattern of subjects."""

    def __init__(self, address: NatsAddress, stream: str, subject: str) -> None:
        self._address = address
        self._stream, self._subject = stream, subject
        self._connection = NatsConnection(address)
        self._consumer: Any = None
        self._next: int | None = None
        self._held: Messages = []

    @property
    def where(self) -> str:
        return f"stream '{self._stream}', {self._address.where}"

    def read(self, start: int, end: int, wanted: Callable[[], int | None]) -> Iterator[tuple[Messages, int]]:
        """Batches of messages, each with the number to go on from; the last one has `end`, unless enough was read."""
        if self._next != start:
            self._seek(start)
        self._next = None  # until a batch is handed over: what fails before that is read again
        at = start
        while at < end:
            left = wanted()
            if left is not None and left <= 0:
                break
            batch, at = self._batch(at, end, _BATCH if left is None else min(left, _BATCH))
            self._next = at
            yield batch, at
            self._next = None
        self._next = at

    def _seek(self, number: int) -> None:
        api = nats_library().js.api
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, number),
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=_INACTIVE_S,
            max_deliver=1,
        )
        self._held = []
        stream, subject = self._connection.jetstream, self._subject
        self._consumer = self._call(stream.pull_subscribe(subject, stream=self._stream, config=config))

    def _call(self, work: Any) -> Any:
        try:
            return self._connection.call(work)
        except self._connection.errors() as error:
            self._consumer = self._next = None
            raise self._address.failed(f"cannot read the stream '{self._stream}'", error) from error

    def _batch(self, at: int, end: int, size: int) -> tuple[Messages, int]:
        """Up to `size` messages before `end`, and the number after them."""
        batch: Messages = []
        deadline = time.monotonic() + self._address.timeout_s
        while at < end and len(batch) < size:
            found = self._fetched(size - len(batch))
            for place, message in enumerate(found):
                number = message.metadata.sequence.stream
                if number >= end:
                    self._held = found[place:] + self._held
                    return batch, end
                batch.append(message)
                at = number + 1
            if found:
                deadline = time.monotonic() + self._address.timeout_s
                if not found[-1].metadata.num_pending and not self._held:
                    return batch, end  # what was there when the epoch was planned has all come
            elif not self._call(self._consumer.consumer_info()).num_pending:
                return batch, end
            elif time.monotonic() > deadline:
                raise ExternalSystemError(
                    f"the stream gave no answer for {self._address.timeout_s:g} s", where=self.where
                )
        return batch, at

    def _fetched(self, size: int) -> Messages:
        if self._held:
            taken, self._held = self._held[:size], self._held[size:]
            return taken
        try:
            return list(self._connection.call(self._consumer.fetch(size, timeout=_WAIT_S)))
        except nats_library().errors.TimeoutError:
            return []
        except self._connection.errors() as error:
            self._consumer = self._next = None
            raise self._address.failed(f"cannot read the stream '{self._stream}'", error) from error

    def close(self) -> None:
        self._connection.close()
