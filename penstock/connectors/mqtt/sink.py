"""Publishing to a topic: a batch is accepted when the broker has acknowledged all of it. At least once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.async_sink import (
    RequestClient,
    Unavailable,
)
from penstock.connectors.mqtt.client import MqttAddress

__all__ = ["MqttTarget"]


@dataclass(frozen=True)
class MqttTarget:
    """Where messages go, and with what promise of the broker's; `retain` makes it keep the last one of the topic."""

    address: MqttAddress
    topic: str
    qos: int = 1
    retain: bool = False

    @property
    def shown(self) -> str:
        return f"topic '{self.topic}', {self.address.where}"

    def create_client(self) -> RequestClient:
        return PublishingClient(self)


class PublishingClient(RequestClient):
    """One connection."""

    takes_batches_whole = True

    def __init__(self, target: MqttTarget) -> None:
        self._target = target
        self._client: Any = None

    def submit(self, payloads: Sequence[bytes]) -> Sequence[int]:
        target = self._target
        try:
            client = self._ready()
        except ExternalSystemError as error:
            if error.retryable:
                raise Unavailable(error.what) from error
            raise
        sent = [client.publish(target.topic, body, target.qos, target.retain) for body in payloads]
        deadline = time.monotonic() + target.address.timeout_s
        try:
            for message in sent:
                message.wait_for_publish(max(0.001, deadline - time.monotonic()))
        except (RuntimeError, ValueError) as error:
            raise Unavailable(str(error)) from error
        if not all(message.is_published() for message in sent):
            raise Unavailable(f"the broker has not acknowledged them in {target.address.timeout_s:g} s")
        return ()

    def _ready(self) -> Any:
        if self._client is None or not self._client.is_connected():
            self.close()
            client = self._target.address.client("")
            client.max_inflight_messages_set(0)
            self._target.address.connect(client)
            self._client = client
        return self._client

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
