"""The gateway's own options, under Flink's keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.options import option

__all__ = ["GatewayOptions"]


@dataclass(frozen=True)
class GatewayOptions:
    """The options as values; lengths of time in seconds."""

    address: str = "localhost"
    port: int = 8083
    idle_timeout_seconds: float = 600.0
    check_interval_seconds: float = 60.0
    max_sessions: int = 1_000_000
    threads_min: int = 5
    threads_max: int = 500
    keepalive_seconds: float = 300.0
    max_body_bytes: int = 104_857_600
    token_file: str | None = None

    @staticmethod
    def read(options: Mapping[str, str]) -> GatewayOptions:
        """
        Raises:
            ValidationError: An option has a value that means nothing; it names the option.
        """
        config = Configuration.from_dict(dict(options))

        def value(key: str) -> Any:
            return config.get(option(key))

        def seconds(key: str) -> float:
            return float(value(key).to_millis() / 1000)

        rest = "sql-gateway.endpoint.rest."
        port = str(value(f"{rest}bind-port")) if f"{rest}bind-port" in options else None
        return GatewayOptions(
            address=value(f"{rest}bind-address") or value(f"{rest}address") or "localhost",
            port=int(port) if port and port.isdigit() else value(f"{rest}port"),
            idle_timeout_seconds=seconds("sql-gateway.session.idle-timeout"),
            check_interval_seconds=seconds("sql-gateway.session.check-interval"),
            max_sessions=value("sql-gateway.session.max-num"),
            threads_min=value("sql-gateway.worker.threads.min"),
            threads_max=value("sql-gateway.worker.threads.max"),
            keepalive_seconds=seconds("sql-gateway.worker.keepalive-time"),
            max_body_bytes=int(options.get("rest.server.max-content-length", 104_857_600)),
            token_file=value("penstock.rest.token-file"),
        )
