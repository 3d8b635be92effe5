"""A Redis server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.packages import find_packaged
from tests.servers.process import ServerProcess, is_ci

PASSWORD = "it's secret"


class RedisServer:
    """Listens on 127.0.0.1 and wants a password; nothing is written to disk."""

    def __init__(self) -> None:
        if not is_ci():  # there it is a part of the tests' own packages
            pytest.importorskip("redis", reason="pip install 'penstock[redis]'")
        self._program = find_packaged("redis-server", "redis-server")
        self._server = ServerProcess("redis", "root")
        self.port = self._server.port
        self.start()

    def start(self) -> None:
        self._server.start(
            self._program.path, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
            "no", "--requirepass", PASSWORD, "--dir", str(self._server.folder),
            ready=lambda: self.client().ping(), environment=self._program.environment,
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port, password=PASSWORD, decode_responses=True)

    def kill(self) -> None:
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()
