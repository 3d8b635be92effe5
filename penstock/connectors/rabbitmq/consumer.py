"""The driver's side of a queue: a connection that receives messages, keeps them, and acknowledges what is committed.

A message must be acknowledged over the connection that it came by, and as long as it is not, a broker gives it again
when that is gone. So the driver owns the connection. Messages are numbered as they come; those of an epoch travel to
its task in the plan and are kept until the epoch is committed, so an epoch that is repeated gets the same ones. When
the epoch is committed they are acknowledged. A connection that is lost fails the job, which starts again from its
checkpoint: the broker then gives again what was not acknowledged.

An acknowledgement itself is not acknowledged. What shows that the broker has it is its answer to a question that was
sent after it over the same channel; until then a message is not *settled*, and may come again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.common.errors import ExternalSystemError
from penstock.connectors.rabbitmq.client import RabbitAddress, declare

__all__ = ["Consumer", "Message"]

_POLL_S = 0.02
_STOP_S = 10.0


class Message(NamedTuple):
    """One message; what the broker calls it is `tag`."""

    number: int
    tag: int
    body: bytes
    correlation_id: str | None
    timestamp_ms: int | None


class Consumer:
    """Receives on a thread; the others may be called from any."""

    def __init__(
        self, address: RabbitAddress, queue: str, prefetch: int, known: Callable[[str | None], bool]
    ) -> None:
        self._address = address
        self._queue = queue
        self._prefetch = prefetch
        self._known = known
        self._lock = threading.Lock()
        self._messages: deque[Message] = deque()
        self._next = 0
        self._to_acknowledge: list[tuple[int, int]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-rabbitmq", daemon=True)
        self.settled = 0
        """Messages with smaller numbers will not come again."""
        self.error: ExternalSystemError | None = None

    def start(self, first: int) -> None:
        """Begins to receive; the first message gets this number."""
        self._next = self.settled = first
        self._thread.start()

    def messages_from(self, number: int, limit: int) -> list[Message]:
        with self._lock:
            return [m for m in self._messages if m.number >= number][:limit]

    def committed(self, number: int) -> None:
        """Messages before this number are part of a checkpoint: they are acknowledged."""
        with self._lock:
            tag = 0
            while self._messages and self._messages[0].number < number:
                tag = self._messages.popleft().tag
            if tag:
                self._to_acknowledge.append((number, tag))

    def stop(self) -> None:
        """Acknowledges what was committed, and closes. What was not is given to others by the broker."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_S)

    # --- the thread

    def _run(self) -> None:
        try:
            connection = self._address.connect()
            try:
                self._receive(connection)
            finally:
                if connection.is_open:
                    connection.close()
        except self._address.errors() as error:
            if not self._stopping.is_set():
                self.error = self._address.failed(f"cannot read the queue '{self._queue}'", error)

    def _receive(self, connection: Any) -> None:
        channel = connection.channel()
        declare(channel, self._queue)
        channel.basic_qos(prefetch_count=self._prefetch)
        for method, properties, body in channel.consume(self._queue, inactivity_timeout=_POLL_S):
            if method is not None:
                self._add(channel, method.delivery_tag, properties, body)
            self._acknowledge(channel)
            if self._stopping.is_set():
                break
        self._acknowledge(channel)

    def _add(self, channel: Any, tag: int, properties: Any, body: bytes) -> None:
        if self._known(properties.correlation_id):  # it was committed, and its acknowledgement got lost
            channel.basic_ack(tag)
            return
        sent = properties.timestamp
        with self._lock:
            self._messages.append(
                Message(
                    self._next,
                    tag,
                    body,
                    properties.correlation_id,
                    None if sent is None else int(sent) * 1000,
                )
            )
            self._next += 1

    def _acknowledge(self, channel: Any) -> None:
        with self._lock:
            waiting, self._to_acknowledge = self._to_acknowledge, []
        if not waiting:
            return
        number, tag = waiting[-1]
        channel.basic_ack(tag, multiple=True)
        channel.queue_declare(self._queue, passive=True)  # its answer comes after the broker has the other
        self.settled = number
