"""Requests over HTTP with what Python brings along: one connection that is kept, timeouts, TLS, a login."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.async_sink import Unavailable

__all__ = ["Answer", "HttpClient", "HttpSettings", "checked_url", "refusal"]

_SHOWN = 300
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})


class Answer(NamedTuple):
    """What a server said."""

    status: int
    reason: str
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def may_pass(self) -> bool:
        """Whether the same request may be accepted later: the server is overloaded, or being restarted."""
        return self.status in _MAY_PASS

    @property
    def shown(self) -> str:
        """Status and the beginning of the body, for messages."""
        text = " ".join(self.body.decode("utf-8", "replace").split())
        return f"{self.status} {self.reason}" + (f": {text[:_SHOWN]}" if text else "")


@dataclass(frozen=True)
class HttpSettings:
    """How servers are spoken to; picklable. A certificate authority is a PEM file."""

    headers: tuple[tuple[str, str], ...] = ()
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0
    ca_file: str | None = None
    verify: bool = True

    def all_headers(self) -> dict[str, str]:
        found = dict(self.headers)
        if self.username is not None:
            login = f"{self.username}:{self.password or ''}".encode()
            found.setdefault("Authorization", f"Basic {base64.b64encode(login).decode()}")
        return found

    def tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def checked_url(url: str, option: str = "url") -> SplitResult:
    """The parts of an address.

    Raises:
        ValidationError: It is not one of HTTP.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError(f"'{option}' is {url!r}", do="write it as http://host:port/path")
    return parts


def refusal(what: str, answer: Answer, where: str) -> ExternalSystemError:
    """The error for a request that a server does not want; whether trying again can help is in it."""
    error = ExternalSystemError(f"{what}: {answer.shown}", where=where, do=_advice(answer.status))
    error.retryable = answer.may_pass
    return error


def _advice(status: int) -> str | None:
    if status in (401, 403):
        return "check username and password, and the rights of that user"
    if status == 404:
        return "check the address"
    return None


class HttpClient:
    """One connection to one server at a time, for one thread. It is made anew where it has been lost."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._headers = settings.all_headers()
        self._server: tuple[str, str] | None = None
        self._connection: http.client.HTTPConnection | None = None

    def request(
        self, method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Sends a request and reads the answer.

        Raises:
            Unavailable: There is no answer.
        """
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kept = self._connection is not None and self._server == (parts.scheme, parts.netloc)
        try:
            return self._exchange(parts, method, target, body, headers)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            if kept and not isinstance(error, TimeoutError):  # servers close connections that were quiet
                return self._once_more(parts, method, target, body, headers)
            raise self._unavailable(parts, error) from error

    def _once_more(
        self,
        parts: SplitResult,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
    ) -> Answer:
        try:
            return self._exchange(parts, method, target, body, headers)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            raise self._unavailable(parts, error) from error

    def _exchange(
        self,
        parts: SplitResult,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
    ) -> Answer:
        connection = self._connected(parts)
        connection.request(method, target, body, {**self._headers, **(headers or {})})
        response = connection.getresponse()
        answer = Answer(response.status, response.reason, response.read())
        if response.will_close:
            self.close()
        return answer

    def _connected(self, parts: SplitResult) -> http.client.HTTPConnection:
        server = (parts.scheme, parts.netloc)
        if self._connection is not None and self._server != server:
            self.close()
        if self._connection is None:
            self._server = server
            self._connection = self._connection_to(parts)
            self._connection.connect()
            self._connection.sock.settimeout(self._settings.read_timeout_s)
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connection

    def _connection_to(self, parts: SplitResult) -> http.client.HTTPConnection:
        host, timeout = parts.hostname or "", self._settings.connect_timeout_s
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, parts.port, timeout=timeout, context=self._settings.tls()
            )
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)

    def _unavailable(self, parts: SplitResult, error: Exception) -> Unavailable:
        return Unavailable(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]} does not answer: {error!r}")

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
