"""Errors of the gateway, with the status codes and texts that Flink's clients know.

A wrong request is 400. Everything that goes wrong behind it is 500, unknown sessions and operations too: that is how
Flink's gateway answers, and its clients go by it.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from penstock.common.errors import PenstockError

__all__ = ["BadRequest", "GatewayError", "error_texts"]

_REST = "org.apache.flink.runtime.rest.handler.RestHandlerException: "


class GatewayError(PenstockError):
    """A session, an operation or a page that is not there, or not in a state to do what was asked."""

    code = "SQL_GATEWAY"


class BadRequest(Exception):
    """The request itself is wrong."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status

    @property
    def texts(self) -> list[str]:
        return [_REST + str(self)]


def error_texts(error: BaseException, doing: str) -> list[str]:
    """What stands in `errors`: what the gateway was doing, then every cause, the last one in full."""
    lines = [f"SqlGatewayException: {doing}"]
    for cause in _causes(error):
        lines.append(f"Caused by: {type(cause).__name__}: {cause}")
    if not isinstance(error, PenstockError):
        lines.append("".join(traceback.format_tb(error.__traceback__)).rstrip())
    text = "\n".join(lines)
    return ["Internal server error.", f"<Exception on server side:\n{text}\nEnd of exception on server side>"]


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it was raised from, as far as that is ours: Spark's own traces help nobody here."""
    while error is not None:
        yield error
        error = error.__cause__ if isinstance(error.__cause__, PenstockError) else None
