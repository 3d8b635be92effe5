"""A request and an answer, whatever carries them: HTTP, the channel to a program's process, or a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "Request", "RestError", "bad_parameter", "not_found"]


class RestError(Exception):
    """Becomes Flink's `{"errors": [...]}` with a status."""

    def __init__(self, status: int, *messages: str) -> None:
        super().__init__(messages[0] if messages else "")
        self.status = status
        self.messages = messages


def not_found(message: str) -> RestError:
    return RestError(404, message)


def bad_parameter(place: str, name: str, value: str) -> RestError:
    return RestError(
        400,
        f'Bad request, could not parse parameters: Cannot resolve {place} parameter ({name}) from value "{value}".',
    )


@dataclass(frozen=True)
class Request:
    """`path` is without prefix and query; `parameters` are those of the path, once a route is found."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict)
    base: str = ""
    """How the client has addressed the server: http://host:port."""

    def one(self, name: str) -> str | None:
        """The only value of a query parameter.

        Raises:
            RestError: It was given several times.
        """
        values = self.query.get(name, ())
        if len(values) > 1:
            raise RestError(400, f"Bad request: query parameter {name} was given {len(values)} times.")
        return values[0] if values else None

    def several(self, name: str) -> list[str] | None:
        """Values of a parameter that is a list, with commas or repeated; None if it was not given."""
        if name not in self.query:
            return None
        return [part for value in self.query[name] for part in value.split(",") if part]

    def integer(self, name: str, default: int | None = None) -> int | None:
        text = self.one(name)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            raise bad_parameter("query", name, text) from None
        if not -(2**31) <= number < 2**31:
            raise bad_parameter("query", name, text)
        return number

    def json(self, what: str) -> dict[str, Any]:
        """The body as an object; an empty one is `{}`.

        Raises:
            RestError: It is not a JSON object.
        """
        if not self.body.strip():
            return {}
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            raise RestError(400, f"Request did not match expected format {what}.") from None
        if not isinstance(value, dict):
            raise RestError(400, f"Request did not match expected format {what}.")
        return value


@dataclass(frozen=True)
class Answer:
    """JSON unless `content` has bytes of another type."""

    body: Any = None
    status: int = 200
    content: bytes | None = None
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        if self.content is not None:
            return self.content
        return json.dumps({} if self.body is None else self.body, allow_nan=False, default=str).encode()

    @classmethod
    def error(cls, status: int, *messages: str) -> Answer:
        return cls({"errors": list(messages)}, status)
