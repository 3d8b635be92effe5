"""Mosquitto, a broker of MQTT."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.servers.packages import find_packaged
from tests.servers.process import ServerProcess, is_ci

USER, PASSWORD = "penstock", "secret"


class MosquittoServer:
    """Listens on 127.0.0.1 and wants a login; sessions are kept in memory, and on disk when it stops."""

    def __init__(self) -> None:
        if not is_ci():  # there it is a part of the tests' own packages
            pytest.importorskip("paho.mqtt", reason="pip install 'penstock[mqtt]'")
        self._program = find_packaged("mosquitto", "mosquitto")
        self._server = ServerProcess("mosquitto", "root")
        self.port = self._server.port
        folder = self._server.folder
        (folder / "users").write_text(f"{USER}:{PASSWORD}\n")
        passwords = find_packaged("mosquitto_passwd", "mosquitto")
        self._hash(passwords.path, passwords.environment, folder)
        (folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous false\npassword_file {folder / 'users'}\n"
            f"persistence true\npersistence_location {folder}/\nautosave_interval 1\n"
            "max_queued_messages 0\nmax_inflight_messages 0\nuser root\n"
        )
        self.start()

    def _hash(self, program: str, environment: dict[str, str], folder: Any) -> None:
        import os
        import subprocess

        command = [program, "-U", str(folder / "users")]
        subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True)

    def start(self) -> None:
        self._server.start(
            self._program.path, "-c", str(self._server.folder / "mosquitto.conf"),
            ready=lambda: self.client().disconnect(), environment=self._program.environment,
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def client(self, name: str = "") -> Any:
        from paho.mqtt import client as mqtt

        made = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, name, protocol=mqtt.MQTTv5)
        made.username_pw_set(USER, PASSWORD)
        made.connect("127.0.0.1", self.port)
        return made

    def send(self, topic: str, *bodies: bytes) -> None:
        client = self.client()
        client.loop_start()
        for sent in [client.publish(topic, body, 1) for body in bodies]:
            sent.wait_for_publish(10)
        client.disconnect()
        client.loop_stop()

    def listen(self, pattern: str) -> tuple[list[tuple[str, bytes]], Any]:
        """What is published from now on, and a client that is to be disconnected."""
        found: list[tuple[str, bytes]] = []
        ready = threading.Event()
        client = self.client()
        client.on_message = lambda c, u, message: found.append((message.topic, message.payload))
        client.on_subscribe = lambda *arguments: ready.set()
        client.loop_start()
        client.subscribe(pattern, 1)
        assert ready.wait(10), "the broker does not answer"
        return found, client

    def kill(self) -> None:
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()
