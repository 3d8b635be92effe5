"""A client of the REST interface: ours, or Flink's own server, which speaks the same."""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from penstock.cli.rest_token import HOW_TO_GIVE_IT, TOKEN_FILE, rest_token
from penstock.common.configuration import Configuration
from penstock.common.errors import ExternalSystemError
from penstock.common.options import option

__all__ = ["RestClient", "find_server"]

_POLL_SECONDS = 0.2
_TIMEOUT_SECONDS = 300.0


class RestClient:
    """Asks a server.

    Args:
        url: http://host:port
        token: For a server that wants one.
        authority: PEM file that the server's certificate is checked against.
    """

    def __init__(self, url: str, token: str | None = None, authority: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._tls = ssl.create_default_context(cafile=authority) if url.startswith("https") else None

    def get(self, path: str, **query: str) -> Any:
        asked = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        return self._send("GET", asked)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._send(method, path, json.dumps(body or {}).encode(), "application/json")

    def upload(self, path: str) -> str:
        """Uploads a program; returns the id it has there."""
        border = uuid.uuid4().hex
        name = os.path.basename(path).replace('"', "_")
        with open(path, "rb") as file:
            content = file.read()
        head = f'--{border}\r\nContent-Disposition: form-data; name="jarfile"; filename="{name}"\r\n'
        form = f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + content
        form += f"\r\n--{border}--\r\n".encode()
        answer = self._send("POST", "/jars/upload", form, f"multipart/form-data; boundary={border}")
        return os.path.basename(answer["filename"])

    def finish(self, path: str) -> dict[str, Any]:
        """Asks about something that was triggered until it is done; returns what came out.

        Raises:
            ExternalSystemError: It failed.
        """
        while True:
            found = self.get(path)
            if found["status"]["id"] == "COMPLETED":
                break
            time.sleep(_POLL_SECONDS)
        operation: dict[str, Any] = found.get("operation") or {}
        cause = operation.get("failure-cause") or operation.get("failureCause")
        if cause is not None:
            raise ExternalSystemError(str(cause.get("stack-trace") or cause.get("class")))
        return operation

    def _send(self, method: str, path: str, body: bytes | None = None, kind: str | None = None) -> Any:
        request = urllib.request.Request(self.url + path, body, method=method)
        if kind is not None:
            request.add_header("Content-Type", kind)
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=self._tls) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            do = HOW_TO_GIVE_IT if error.code == HTTPStatus.UNAUTHORIZED else None
            raise ExternalSystemError(_told(error), where=f"{method} {self.url}{path}", do=do) from None
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise ExternalSystemError(
                f"no server answers at {self.url}: {reason}",
                do="start one (penstock cluster start, penstock run --web), or say where it is with -m host:port",
            ) from None
        except ValueError:
            raise ExternalSystemError(
                f"{self.url} does not answer as a Flink or penstock server does"
            ) from None


def _told(error: urllib.error.HTTPError) -> str:
    try:
        errors = json.loads(error.read())["errors"]
        return "\n".join(str(each) for each in errors)
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {error.code}"


def find_server(configuration: Configuration, address: str | None) -> RestClient:
    """The server that a command talks to: -m, else rest.address and rest.port, else the session of this user."""
    from penstock.rest.session.cluster import default_folder, read_description

    secure = bool(configuration.get(option("security.ssl.rest.enabled")))
    given = configuration.to_dict()
    if address is not None:
        url = address if "://" in address else f"{'https' if secure else 'http'}://{_with_port(address)}"
    elif "rest.address" in given or "rest.port" in given:
        host = configuration.get(option("rest.address")) or "localhost"
        url = f"{'https' if secure else 'http'}://{host}:{configuration.get(option('rest.port'))}"
    else:
        session = read_description(default_folder(configuration))
        url = session["url"] if session else "http://localhost:8081"
    authority = configuration.get(option("security.ssl.rest.ca"))
    return RestClient(url, rest_token(configuration.get(option(TOKEN_FILE))), authority)


def _with_port(address: str) -> str:
    """
    >>> _with_port("host"), _with_port("host:1")
    ('host:8081', 'host:1')
    """
    return address if address.rpartition(":")[2].isdecimal() else f"{address}:8081"
