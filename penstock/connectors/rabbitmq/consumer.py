"""A connection that receives the messages of a queue, and acknowledges what is committed over the same channel.

An acknowledgement itself is not acknowledged. What shows that the broker has it is its answer to a question that was
sent after it over the same channel; until then a message is not *settled*, and may come again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from penstock.connectors.held_queue import QueueConsumer
from penstock.connectors.rabbitmq.client import RabbitAddress, declare

__all__ = ["RabbitConsumer"]

_POLL_S = 0.02
_STOP_S = 10.0


class RabbitConsumer(QueueConsumer):
    """Receives on a thread."""

    def __init__(
        self, address: RabbitAddress, queue: str, prefetch: int, known: Callable[[str | None], bool]
    ) -> None:
        super().__init__()
        self._address = address
        self._queue = queue
        self._prefetch = prefetch
        self._known = known
        self._to_acknowledge: list[tuple[int, int]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-rabbitmq", daemon=True)

    def receive(self) -> None:
        self._thread.start()

    def acknowledge(self, number: int, tags: Sequence[Any]) -> None:
        with self._lock:
            self._to_acknowledge.append((number, tags[-1]))

    def stop(self) -> None:
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
                self._take(channel, method.delivery_tag, properties, body)
            self._acknowledge(channel)
            if self._stopping.is_set():
                break
        self._acknowledge(channel)

    def _take(self, channel: Any, tag: int, properties: Any, body: bytes) -> None:
        if self._known(properties.correlation_id):  # it was committed, and its acknowledgement got lost
            channel.basic_ack(tag)
            return
        sent = properties.timestamp
        sent_ms = None if sent is None else int(sent) * 1000
        self.add(tag, body, correlation_id=properties.correlation_id, timestamp_ms=sent_ms)

    def _acknowledge(self, channel: Any) -> None:
        with self._lock:
            waiting, self._to_acknowledge = self._to_acknowledge, []
        if not waiting:
            return
        number, tag = waiting[-1]
        channel.basic_ack(tag, multiple=True)
        channel.queue_declare(self._queue, passive=True)  # its answer comes after the broker has the other
        self.settled = number
