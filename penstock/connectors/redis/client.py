"""A Redis server: how to get there, batches of commands, errors that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from penstock.common.errors import ExternalSystemError, MissingDependencyError, ValidationError
from penstock.connectors.async_sink import RequestClient, Unavailable

__all__ = ["Command", "CommandClient", "RedisAddress", "redis_library"]

Command = tuple[Any, ...]
"""The name of a command and its arguments, as one types them: ("SET", "key", "value")."""

_PASSING = ("OOM", "READONLY", "LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN")
"""What answers begin with that may be others after a while: no memory, a failover, a start."""


def redis_library() -> Any:
    """The package redis, or an error that says what to install."""
    try:
        import redis
    except ImportError:
        raise MissingDependencyError(
            "Redis needs the package redis", do="pip install 'penstock[redis]'"
        ) from None
    return redis


@dataclass(frozen=True)
class RedisAddress:
    """Where a server is: `redis://user:password@host:6379/0`, `rediss://` with TLS, `unix://` a socket."""

    url: str = field(repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: float = 10.0
    ca_file: str | None = None

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("redis", "rediss", "unix"):
            raise ValidationError(f"'url' is {self.shown!r}", do="write it as redis://host:6379/0")

    @property
    def shown(self) -> str:
        """The address without its password."""
        head, at, rest = self.url.rpartition("@")
        return f"{head.partition('://')[0]}://***@{rest}" if at else self.url

    def connect(self) -> Any:
        """A client, which connects when it is first used."""
        more: dict[str, Any] = {"username": self.username, "password": self.password}
        if self.ca_file is not None:
            more["ssl_ca_certs"] = self.ca_file
        return redis_library().Redis.from_url(
            self.url,
            socket_timeout=self.timeout_s,
            socket_connect_timeout=self.timeout_s,
            single_connection_client=True,
            retry=None,
            **{name: value for name, value in more.items() if value is not None},
        )

    def explained(self, error: Exception, what: str) -> Exception:
        """The library's errors as ours; `Unavailable` where trying again may help."""
        errors = redis_library().exceptions
        text = " ".join(str(error).split())
        if isinstance(error, errors.AuthenticationError) or text.startswith(
            ("NOAUTH", "WRONGPASS", "NOPERM")
        ):
            return self._final(f"{what}: {text}", "check username and password, and the rights of that user")
        if isinstance(error, errors.ResponseError) and not text.startswith(_PASSING):
            return self._final(f"{what}: {text}", None)
        return Unavailable(f"{self.shown} does not take them: {text}")

    def _final(self, what: str, do: str | None) -> ExternalSystemError:
        failure = ExternalSystemError(what, where=f"Redis at {self.shown}", do=do)
        failure.retryable = False
        return failure


class CommandClient(RequestClient):
    """A batch is a transaction (MULTI, EXEC): its commands are executed in order, with none of others between."""

    takes_batches_whole = True

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
        self._client: Any = None

    def submit(self, payloads: Sequence[Sequence[Command]]) -> Sequence[int]:
        library = redis_library()
        try:
            if self._client is None:
                self._client = self._address.connect()
            pipeline = self._client.pipeline(transaction=True)
            for commands in payloads:
                for command in commands:
                    pipeline.execute_command(*command)
            pipeline.execute()
        except library.RedisError as error:
            raise self._address.explained(error, "a command was refused") from error
        except OSError as error:
            raise Unavailable(str(error)) from error
        return ()

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            try:
                client.close()
            except (redis_library().RedisError, OSError):
                pass
