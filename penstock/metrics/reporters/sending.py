"""One HTTP request, with a time limit and an error that says where it went."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping

from penstock.common.errors import ExternalSystemError, ValidationError

__all__ = ["http_url", "send"]


def send(
    url: str, method: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float = 10.0
) -> None:
    """Sends the request; the answer is only looked at for its status.

    Raises:
        ExternalSystemError: Nobody answers, or the answer is an error.
    """
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        said = error.read(500).decode(errors="replace").strip()
        raise ExternalSystemError(
            f"{method} answers {error.code}: {said}", where=_without_secrets(url)
        ) from error
    except OSError as error:
        raise ExternalSystemError(f"{method} cannot be sent: {error}", where=_without_secrets(url)) from error


def http_url(text: str, key: str) -> str:
    """The URL, without a slash at its end.

    Raises:
        ValidationError: It is none of HTTP.
    """
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValidationError(
            f"'{text}' is no address of HTTP", where=key, do="give one such as http://localhost:9091"
        )
    return text.rstrip("/")


def _without_secrets(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
