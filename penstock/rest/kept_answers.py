"""Answers to reads, kept for a moment and sent again as they are.

Dashboards, scrapers and scripts ask the same of a server again and again, several at a time. What a job tells of
itself changes with its epochs, so within a tenth of a second one answer serves all of them: it is computed once,
written as bytes once, and whoever asks meanwhile waits for the same one. (Flink keeps what it knows of a job for
`web.refresh-interval`, which is three seconds.)

Nobody reads what his own request has made old: anything that is not a read, a job that starts or ends, and a
savepoint that is done make all answers old at once (`version`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

__all__ = ["KEPT_SECONDS", "KeptAnswers"]

KEPT_SECONDS = 0.1
_MOST_ANSWERS = 256
_MOST_BYTES = 1 << 20

Key = tuple[str, bytes]
"""Path and query, as they were sent."""


class KeptAnswers:
    """Belongs to the event loop of one server: nothing here is called from another thread.

    Args:
        version: Changes whenever something happens that people must see at once.
    """

    def __init__(self, version: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._version = version
        self._clock = clock
        self._kept: dict[Key, tuple[float, int, Response]] = {}
        self._under_way: dict[tuple[Key, int], asyncio.Task[Response]] = {}

    def find(self, key: Key) -> Response | None:
        """The answer that is still good."""
        found = self._kept.get(key)
        if found is None:
            return None
        until, version, response = found
        return response if version == self._version() and self._clock() < until else None

    async def ask(self, key: Key, make: Callable[[], Awaitable[Response]]) -> Response:
        """A good answer: a kept one, one that somebody else waits for already, or a new one."""
        found = self.find(key)
        if found is not None:
            return found
        version = self._version()
        task = self._under_way.get((key, version))
        if task is None:
            task = asyncio.ensure_future(self._make(key, version, make))
            self._under_way[key, version] = task
            task.add_done_callback(lambda _: self._under_way.pop((key, version), None))
        return await asyncio.shield(task)  # one that goes away takes the answer from nobody

    async def _make(self, key: Key, version: int, make: Callable[[], Awaitable[Response]]) -> Response:
        response = await make()
        is_new = version == self._version()  # else a later one may be there already
        if is_new and response.status_code == 200 and len(response.body) <= _MOST_BYTES:
            if len(self._kept) >= _MOST_ANSWERS:
                self._kept.clear()
            self._kept[key] = (self._clock() + KEPT_SECONDS, version, response)
        return response
