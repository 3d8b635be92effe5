"""Answers to `fetchResults`: the page that was asked for, and where the next one is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from penstock.gateway.operation import Operation
from penstock.gateway.row_formats import JSON, results_text
from penstock.gateway.session import GatewaySession

__all__ = ["Place", "page_text", "until_begun", "until_news"]

_LONG_POLL_SECONDS = 0.2
_TICK_SECONDS = 0.01


@dataclass(frozen=True)
class Place:
    """Where a result is fetched: the version of the path decides how the next one is named."""

    version: str
    session_handle: str
    operation_handle: str
    row_format: str = JSON

    def uri(self, token: int) -> str:
        path = f"/{self.version}/sessions/{self.session_handle}/operations/{self.operation_handle}/result/{token}"
        return path if self.version == "v1" else f"{path}?rowFormat={self.row_format}"


async def until_begun(operation: Operation) -> None:
    """Waits for the statements before this one: clients expect that what they were answered for is at work."""
    while operation.is_waiting:
        await asyncio.sleep(_TICK_SECONDS)


async def until_news(operation: Operation) -> None:
    """Waits a moment for something to show: Flink's client asks again at once, as often as it is answered."""
    for _ in range(round(_LONG_POLL_SECONDS / _TICK_SECONDS)):
        if operation.has_news():
            return
        await asyncio.sleep(_TICK_SECONDS)


def page_text(session: GatewaySession, operation: Operation, token: int, place: Place) -> str:
    """The answer as JSON text.

    Raises:
        Exception: What the statement raised.
    """
    page = operation.fetch(token)
    pages = operation.pages
    if page is None or pages is None:
        return f'{{"resultType":"NOT_READY","nextResultUri":{json.dumps(place.uri(token))}}}'
    parts = [
        f'"resultType":"{"EOS" if page.next_token is None else "PAYLOAD"}"',
        f'"isQueryResult":{"true" if pages.is_query else "false"}',
    ]
    if pages.job_id is not None:
        parts.append(f'"jobID":"{pages.job_id}"')
    parts.append(f'"resultKind":"{"SUCCESS" if pages.success_only else "SUCCESS_WITH_CONTENT"}"')
    parts.append(f'"results":{results_text(pages.schema, page.rows, place.row_format, session.runner.zone)}')
    if page.next_token is not None:
        parts.append(f'"nextResultUri":{json.dumps(place.uri(page.next_token))}')
    return "{" + ",".join(parts) + "}"
