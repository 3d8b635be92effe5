"""Where events go: an OpenLineage server, a file, or the log. Keys are those of OpenLineage's own integrations.

| key | meaning |
| --- | --- |
| openlineage.transport.type | http, file, console |
| openlineage.transport.url, .endpoint | of http; the endpoint is api/v1/lineage |
| openlineage.transport.auth.type, .auth.apiKey | api_key: sent as a bearer token |
| openlineage.transport.location | of file: a line of JSON per event is appended |
"""

from __future__ import annotations

import json
import logging
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.metrics.reporters.sending import http_url, send

__all__ = ["Transport", "make_transport"]

LOG = logging.getLogger(__name__)
Transport = Callable[[Mapping[str, Any]], None]
_PREFIX = "openlineage.transport."


def make_transport(settings: Mapping[str, str]) -> Transport | None:
    """What the configuration asks for; None if nothing.

    Raises:
        ValidationError, NotSupportedError: With the key.
    """
    kind = settings.get(f"{_PREFIX}type")
    if kind is None:
        return None
    if kind not in _KINDS:
        known = "http, file and console are known"
        raise NotSupportedError(f"OpenLineage's transport '{kind}'", known, where=f"{_PREFIX}type")
    return _KINDS[kind](settings)


def _needed(settings: Mapping[str, str], name: str, example: str) -> str:
    value = settings.get(f"{_PREFIX}{name}")
    if not value:
        raise ValidationError(
            f"{_PREFIX}{name} is missing", where=f"{_PREFIX}type", do=f"set it, to {example}, say"
        )
    return value


def _http(settings: Mapping[str, str]) -> Transport:
    base = http_url(_needed(settings, "url", "http://localhost:5000"), f"{_PREFIX}url")
    url = f"{base}/{settings.get(f'{_PREFIX}endpoint', 'api/v1/lineage').strip('/')}"
    headers = {"Content-Type": "application/json"}
    if settings.get(f"{_PREFIX}auth.type") == "api_key":
        key = settings.get(f"{_PREFIX}auth.apiKey") or _needed(settings, "auth.api_key", "a key")
        headers["Authorization"] = f"Bearer {key}"
    return lambda event: send(url, "POST", json.dumps(event).encode(), headers)


def _file(settings: Mapping[str, str]) -> Transport:
    path = pathlib.Path(_needed(settings, "location", "/var/log/lineage.jsonl"))

    def append(event: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    return append


def _console(settings: Mapping[str, str]) -> Transport:
    return lambda event: LOG.info("%s", json.dumps(event))


_KINDS: dict[str, Callable[[Mapping[str, str]], Transport]] = {
    "http": _http,
    "file": _file,
    "console": _console,
}
