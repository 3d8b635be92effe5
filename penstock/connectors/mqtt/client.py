"""An MQTT broker: how to get there, errors that say what to do."""

from __future__ import annotations

import ssl
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from penstock.common.errors import ExternalSystemError, MissingDependencyError, ValidationError

__all__ = ["MqttAddress", "mqtt_library"]

_SCHEMES = {"mqtt": 1883, "mqtts": 8883}
_REFUSED = frozenset({"Not authorized", "Bad user name or password", "Banned", "Bad authentication method"})
_KEEP_ALIVE_S = 30


def mqtt_library() -> Any:
    """The module of paho-mqtt, or an error that says what to install."""
    try:
        from paho.mqtt import client
    except ImportError:
        raise MissingDependencyError(
            "MQTT needs the package paho-mqtt", do="pip install 'penstock[mqtt]'"
        ) from None
    return client


@dataclass(frozen=True)
class MqttAddress:
    """Where a broker is: `mqtt://host:1883`, `mqtts://` with TLS."""

    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: float = 10.0
    ca_file: str | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in _SCHEMES or not parts.hostname or "@" in self.url:
            raise ValidationError(
                "the address of an MQTT broker is mqtt://host:1883, or mqtts://host:8883 with TLS, without a login",
                do="give user name and password by their own options",
            )

    @property
    def where(self) -> str:
        return f"MQTT broker at {self.url}"

    def client(self, client_id: str, manual_ack: bool = False) -> Any:
        """A client of MQTT 5 that is not connected yet; its callbacks come on a thread of its own."""
        library = mqtt_library()
        made = library.Client(
            library.CallbackAPIVersion.VERSION2,
            client_id,
            protocol=library.MQTTv5,
            reconnect_on_failure=False,
            manual_ack=manual_ack,
        )
        made.connect_timeout = self.timeout_s
        if self.username is not None:
            made.username_pw_set(self.username, self.password)
        if urlsplit(self.url).scheme == "mqtts":
            made.tls_set_context(ssl.create_default_context(cafile=self.ca_file))
        return made

    def connect(self, client: Any, keep_session_s: int = 0, receive_maximum: int | None = None) -> None:
        """Connects, starts the client's thread, and waits for the broker's word.

        Raises:
            ExternalSystemError: The broker cannot be reached, or refuses.
        """
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = keep_session_s
        if receive_maximum is not None:
            properties.ReceiveMaximum = receive_maximum
        answer: list[Any] = []
        answered = threading.Event()

        def connected(client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
            answer.append(reason)
            answered.set()

        client.on_connect = connected
        parts = urlsplit(self.url)
        port = parts.port or _SCHEMES[parts.scheme]
        try:
            client.connect(
                parts.hostname, port, _KEEP_ALIVE_S, clean_start=not keep_session_s, properties=properties
            )
        except (OSError, ssl.SSLError, ValueError) as error:
            raise self.failed("cannot connect", error) from error
        client.loop_start()
        if not answered.wait(self.timeout_s):
            client.loop_stop()
            raise self.failed("cannot connect", "the broker does not answer")
        if answer[0].is_failure:
            client.loop_stop()
            raise self.failed("cannot connect", answer[0])

    def failed(self, what: str, reason: object) -> ExternalSystemError:
        text = " ".join(str(reason).split()) or type(reason).__name__
        refused = text in _REFUSED
        failure = ExternalSystemError(
            f"{what}: {text}",
            where=self.where,
            do="check user name, password and the rights of that user" if refused else None,
        )
        failure.retryable = not refused
        return failure
