"""Parts of a request, checked: what does not fit is a `BadRequest` in Flink's words."""

from __future__ import annotations

import json
import uuid
from typing import Any

from starlette.requests import Request

from penstock.gateway.errors import BadRequest

__all__ = ["Body", "optional_text", "path_uuid", "query_choice", "read_body", "text_map", "whole_number"]

Body = dict[str, Any]


async def read_body(request: Request, name: str, limit: int) -> Body:
    """The JSON object of a request; an empty body is an empty object.

    Args:
        name: What Flink calls the object, for its message.
        limit: More bytes than these are not read.
    """
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise _too_large(limit)
    if not data.strip():
        return {}
    try:
        body = json.loads(bytes(data))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _no_match(name)
    return {**body, "": name}


def _too_large(limit: int) -> BadRequest:
    return BadRequest(f"The request is larger than {limit} bytes (rest.server.max-content-length).", 413)


def _no_match(name: str) -> BadRequest:
    return BadRequest(f"Request did not match expected format {name}.")


def optional_text(body: Body, key: str) -> str | None:
    """A text; numbers and truth values count as the text that they are written as."""
    return None if body.get(key) is None else _scalar_text(body, body[key])


def text_map(body: Body, key: str) -> dict[str, str]:
    """An object whose values are texts; NULLs are left out."""
    found = body.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _no_match(body.get("", key))
    return {name: _scalar_text(body, value) for name, value in found.items() if value is not None}


def whole_number(body: Body, key: str, default: int) -> int:
    found = body.get(key)
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, (int, str)) or not _is_whole(found):
        raise _no_match(body.get("", key))
    return int(found)


def path_uuid(request: Request, key: str) -> str:
    """A handle in the path."""
    text = request.path_params[key]
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise BadRequest(
            f'Bad request, could not parse parameters: Cannot resolve path parameter ({key}) from value "{text}".'
        ) from None


def query_choice(request: Request, key: str, choices: tuple[str, ...], default: str) -> str:
    """A query parameter that names one of several things, in capitals or not."""
    text = request.query_params.get(key)
    if text is None:
        return default
    if text.upper() not in choices:
        raise BadRequest(
            "Bad request, could not parse parameters: Cannot resolve query parameter "
            f'({key}) from value "{text}".'
        )
    return text.upper()


def _is_whole(value: int | str) -> bool:
    return isinstance(value, int) or value.strip().lstrip("+-").isdigit()


def _scalar_text(body: Body, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise _no_match(body.get("", "body"))
