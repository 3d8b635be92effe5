"""A NATS server with JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.servers.packages import find_packaged
from tests.servers.process import ServerProcess, is_ci

USER, PASSWORD = "penstock", "it's secret"


class NatsServer:
    """Listens on 127.0.0.1 and wants a login; streams are kept in files."""

    def __init__(self) -> None:
        if not is_ci():  # there it is a part of the tests' own packages
            pytest.importorskip("nats", reason="pip install 'penstock[nats]'")
        self._program = find_packaged("nats-server", "nats-server", ("nats-server",))
        self._server = ServerProcess("nats", "root")
        self.port = self._server.port
        self.start()

    def start(self) -> None:
        self._server.start(
            self._program.path, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd",
            str(self._server.folder / "data"), "--user", USER, "--pass", PASSWORD,
            ready=lambda: self.do(_nothing), environment=self._program.environment,
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def do(self, work: Any) -> Any:
        """Calls a function of the JetStream context, and waits."""
        return asyncio.run(self._done(work))

    async def _done(self, work: Any) -> Any:
        import nats

        client = await nats.connect(self.url, user=USER, password=PASSWORD, allow_reconnect=False)
        try:
            return await work(client.jetstream())
        finally:
            await client.close()

    def create(self, stream: str, *subjects: str, **config: Any) -> str:
        async def add(js: Any) -> None:
            await js.add_stream(name=stream, subjects=list(subjects) or [f"{stream}.>"], **config)

        self.do(add)
        return stream

    def send(self, subject: str, *bodies: bytes) -> None:
        async def publish(js: Any) -> None:
            for body in bodies:
                await js.publish(subject, body)

        self.do(publish)

    def read(self, stream: str) -> list[tuple[str, bytes]]:
        """Subject and body of all messages."""

        async def messages(js: Any) -> list[tuple[str, bytes]]:
            state = (await js.stream_info(stream)).state
            found = [await js.get_msg(stream, n) for n in range(state.first_seq, state.last_seq + 1)]
            return [(m.subject, m.data) for m in found]

        found: list[tuple[str, bytes]] = self.do(messages)
        return found

    def kill(self) -> None:
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()


async def _nothing(js: Any) -> Coroutine[Any, Any, None] | None:
    await js.account_info()
    return None
