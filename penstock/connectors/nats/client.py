"""A NATS server: how to get there, errors that say what to do.

The library is asynchronous. A process has one event loop for it, on a thread of its own; `NatsConnection` calls
into it and waits. A connection that is lost is not mended behind our back: the call fails, and who called makes a
new one.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.common.errors import ExternalSystemError, MissingDependencyError, ValidationError

__all__ = ["NatsAddress", "NatsConnection", "nats_library"]

T = TypeVar("T")
_SCHEMES = ("nats://", "tls://", "ws://", "wss://")


def nats_library() -> Any:
    """The package nats-py, or an error that says what to install."""
    try:
        import nats
        import nats.errors
        import nats.js.api
        import nats.js.errors
    except ImportError:
        raise MissingDependencyError(
            "NATS needs the package nats-py", do="pip install 'penstock[nats]'"
        ) from None
    return nats


@dataclass(frozen=True)
class NatsAddress:
    """Where servers are: `nats://host:4222`, several separated by commas; `tls://` with TLS."""

    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 10.0
    ca_file: str | None = None

    def __post_init__(self) -> None:
        wrong = [part for part in self.servers if not part.startswith(_SCHEMES) or "@" in part]
        if wrong or not self.servers:
            raise ValidationError(
                "the address of a NATS server is nats://host:4222, without a login",
                do="give user name and password, or a token, by their own options",
            )
        if (self.username is None) != (self.password is None):
            raise ValidationError("a user name needs a password, and a password a user name")

    @property
    def servers(self) -> list[str]:
        return [part.strip() for part in self.url.split(",") if part.strip()]

    @property
    def where(self) -> str:
        return f"NATS at {self.url}"

    def settings(self) -> dict[str, Any]:
        """What the library is told."""
        found: dict[str, Any] = {
            "servers": self.servers,
            "allow_reconnect": False,
            "connect_timeout": self.timeout_s,
            "user": self.username,
            "password": self.password,
            "token": self.token,
            "error_cb": _say_nothing,
        }
        if self.ca_file is not None:
            found["tls"] = ssl.create_default_context(cafile=self.ca_file)
        return found

    def failed(self, what: str, error: BaseException) -> ExternalSystemError:
        """The library's errors as ours."""
        errors = nats_library().errors
        text = " ".join(str(error).split()) or type(error).__name__
        refused = isinstance(error, errors.AuthorizationError) or "uthorization" in text
        do = "check user name, password or token, and the rights of that user" if refused else None
        failure = ExternalSystemError(f"{what}: {text}", where=self.where, do=do)
        missing = isinstance(error, (nats_library().js.errors.NotFoundError, ValueError))
        failure.retryable = not (refused or missing)
        return failure


async def _say_nothing(error: Exception) -> None:
    """The library prints what it complains about otherwise; the call that fails tells it."""


class NatsConnection:
    """A connection that is used by one thread at a time; made when it is first needed."""

    def __init__(self, address: NatsAddress) -> None:
        self._address = address
        self._client: Any = None

    @property
    def jetstream(self) -> Any:
        """The library's JetStream context.

        Raises:
            ExternalSystemError: No server can be reached, or it refuses the login.
        """
        if self._client is None or not self._client.is_connected:
            self.close()
            connect = nats_library().connect(**self._address.settings())
            try:
                self._client = self.call(connect)
            except self.errors() as error:
                raise self._address.failed("cannot connect", error) from error
        return self._client.jetstream(timeout=self._address.timeout_s)

    def call(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Waits for a call of the library; what it raises is raised."""
        longest = self._address.timeout_s * 2 if timeout_s is None else timeout_s
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, longest), _loop()).result()

    @staticmethod
    def errors() -> tuple[type[BaseException], ...]:
        """What the library raises when a call cannot be made."""
        return (nats_library().errors.Error, OSError, asyncio.TimeoutError)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            try:
                self.call(client.close(), 5)
            except self.errors():
                pass


_loops: dict[int, asyncio.AbstractEventLoop] = {}
_guard = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """The process's event loop: a fork makes one of its own."""
    with _guard:
        if os.getpid() not in _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="penstock-nats", daemon=True).start()
            _loops[os.getpid()] = loop
        return _loops[os.getpid()]
