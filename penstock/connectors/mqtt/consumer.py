"""A connection that receives the messages of topics, in a session that the broker keeps.

The session has the name of the client. Messages that were not acknowledged come again when a client of that name
connects the next time, and messages that are published meanwhile wait there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.connectors.held_queue import QueueConsumer
from penstock.connectors.mqtt.client import MqttAddress

__all__ = ["MqttConsumer"]


class MqttConsumer(QueueConsumer):
    """Receives on the client's own thread."""

    def __init__(
        self,
        address: MqttAddress,
        topics: Sequence[str],
        qos: int,
        client_id: str,
        prefetch: int,
        keep_session_s: int,
    ) -> None:
        super().__init__()
        self._address = address
        self._topics, self._qos = tuple(topics), qos
        self._prefetch, self._keep_session_s = prefetch, keep_session_s
        self._stopping = False
        self._client = address.client(client_id, manual_ack=True)
        self._client.on_message = self._message
        self._client.on_disconnect = self._disconnected
        self._client.on_subscribe = self._subscribed

    def receive(self) -> None:
        self._address.connect(self._client, self._keep_session_s, self._prefetch)
        self._client.subscribe([(topic, self._qos) for topic in self._topics])

    def acknowledge(self, number: int, tags: Sequence[Any]) -> None:
        for message_id, qos in tags:
            self._client.ack(message_id, qos)

    def stop(self) -> None:
        self._stopping = True
        self._client.disconnect()
        self._client.loop_stop()

    # --- callbacks

    def _message(self, client: Any, userdata: Any, message: Any) -> None:
        self.add((message.mid, message.qos), bytes(message.payload), topic=message.topic)

    def _subscribed(self, client: Any, userdata: Any, mid: int, reasons: Any, properties: Any) -> None:
        refused = [reason for reason in reasons if reason.is_failure]
        if refused:
            self.error = self._address.failed(f"cannot read {', '.join(self._topics)}", refused[0])

    def _disconnected(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        if not self._stopping:
            self.error = self._address.failed("the connection is lost", reason)
