"""A gateway on a port, in a thread of the test run, for clients that are other processes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from penstock.gateway.server import GatewayServer


class ServedGateway:
    """`with ServedGateway() as gateway: … gateway.port`."""

    def __init__(self, properties: Mapping[str, str] | None = None, **how: Any) -> None:
        address = "sql-gateway.endpoint.rest.address"
        options = {"sql-gateway.endpoint.rest.port": "0", address: "127.0.0.1", **(properties or {})}
        self._server = GatewayServer(options, **how)
        self.url = self._server.url
        self.port = int(self.url.rsplit(":", 1)[1])
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> ServedGateway:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.stop()
        self._thread.join(60)
        assert not self._thread.is_alive()
