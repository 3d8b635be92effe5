"""Requests to a SQL gateway, Flink's or ours: one session, its statements, the pages of their results."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from penstock.cli.rest_token import HOW_TO_GIVE_IT, rest_token
from penstock.common.errors import ExternalSystemError, ValidationError

__all__ = ["GatewayCalls", "GatewayFailure"]

_VERSIONS = ("V4", "V3", "V2")
_TIMEOUT_SECONDS = 60.0
_CAUSE = re.compile(r"^Caused by: (.*?)(?=\n\tat |\nCaused by: |\nEnd of exception|\Z)", re.M | re.S)


class GatewayFailure(ExternalSystemError):
    """The gateway answered with an error."""


class GatewayCalls:
    """A session of a gateway; all methods may be called from any thread.

    Args:
        url: `http://host:port`, with a path in front of the version if need be; `host:port` is enough.
        token: Sent with every request; of the variable `PENSTOCK_REST_TOKEN` unless given.

    Raises:
        ValidationError: The URL is none.
        GatewayFailure: Nobody answers there, or nobody who speaks this language.
    """

    def __init__(self, url: str, properties: Mapping[str, str], token: str | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValidationError(f"'{url}' is not the address of a gateway", do="write http://host:port")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._parts = parts
        self._token = token or rest_token(None)
        self._local = threading.local()
        self._base = parts.path.rstrip("/")
        self._base += "/" + self._newest_version().lower()
        body = {"sessionName": "penstock sql", "properties": dict(properties)}
        self._session = self.call("POST", "/sessions", body)["sessionHandle"]

    def _newest_version(self) -> str:
        offered = self.call("GET", "/v1/api_versions").get("versions", [])
        found = next((version for version in _VERSIONS if version in offered), None)
        if found is None:
            raise GatewayFailure(f"the gateway at {self.url} offers {offered}, none of which is known here")
        return found

    # -- the session ---------------------------------------------------------------------------------------------

    def properties(self) -> dict[str, str]:
        found: dict[str, str] = self.call("GET", f"/sessions/{self._session}")["properties"]
        return found

    def heartbeat(self) -> None:
        self.call("POST", f"/sessions/{self._session}/heartbeat", {})

    def close(self) -> None:
        self.call("DELETE", f"/sessions/{self._session}")

    def submit(self, statement: str) -> str:
        """Hands a statement in; the handle of its operation."""
        answer = self.call("POST", f"/sessions/{self._session}/statements", {"statement": statement})
        return str(answer["operationHandle"])

    def page(self, operation: str, token: int) -> Any:
        path = f"/sessions/{self._session}/operations/{operation}/result/{token}?rowFormat=PLAIN_TEXT"
        return self.call("GET", path)

    def close_operation(self, operation: str) -> None:
        self.call("DELETE", f"/sessions/{self._session}/operations/{operation}/close")

    # -- HTTP ----------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """
        Raises:
            GatewayFailure: With the innermost reason that the gateway gives.
        """
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body)
        try:
            status, text = self._exchange(method, self._base + path, data, headers)
        except (OSError, http.client.HTTPException) as error:
            self._forget()
            raise GatewayFailure(
                f"the gateway at {self.url} does not answer: {error or type(error).__name__}",
                do="check the address, and that the gateway runs",
            ) from None
        return _checked(status, text, f"{method} {self.url}{self._base}{path}")

    def _exchange(self, method: str, path: str, data: str | None, headers: dict[str, str]) -> tuple[int, str]:
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._forget()  # it was kept open for too long; once more with a new one
            connection = self._connection()
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
        except BaseException:
            self._forget()  # an answer that nobody reads must not be taken for the next one
            raise
        return answer.status, answer.read().decode("utf-8", "replace")

    def _connection(self) -> http.client.HTTPConnection:
        """One per thread, kept open."""
        found: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if found is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                found = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_SECONDS, context=context)
            else:
                found = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
            self._local.connection = found
        return found

    def _forget(self) -> None:
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()


def _checked(status: int, text: str, where: str) -> Any:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if status == 200 and isinstance(answer, dict):
        return answer
    errors = answer.get("errors") if isinstance(answer, dict) else None
    if not errors:
        raise GatewayFailure(f"status {status} is not an answer of a SQL gateway", where=where)
    do = HOW_TO_GIVE_IT if status == http.client.UNAUTHORIZED else None
    raise GatewayFailure(_reason([str(error) for error in errors]), do=do)


def _reason(errors: list[str]) -> str:
    """The innermost cause, without the frames of a program that is not ours."""
    text = errors[-1]
    causes = _CAUSE.findall(text)
    if causes:
        return str(causes[-1]).strip()
    first = text.removeprefix("<Exception on server side:\n").split("\n\tat ")[0]
    return first.strip()
