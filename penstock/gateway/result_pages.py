"""The result of an operation, page by page.

A client asks for page 0, then for the one that the answer names. It may ask for the same page again, if an answer
was lost; further back there is nothing. A thread reads ahead of the client, at most `capacity` rows, so a query whose
client is slow waits, and one whose client is gone holds little.

    page 0, 1, …   PAYLOAD, with the rows that have come since the page before: possibly none, while a query runs
    then           EOS; an empty result has nothing else
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.common.types import Row
from penstock.gateway.errors import GatewayError

__all__ = ["Page", "ResultPages"]

CAPACITY = 5000
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Page:
    """Rows, and the number of the next page; None behind the last."""

    rows: list[Row]
    next_token: int | None


class ResultPages:
    """What an operation has to show.

    Args:
        is_query: Whether a job makes the rows.
        success_only: Whether the statement has nothing to say but OK.
        job_id: The job that was started, if one was.
    """

    def __init__(
        self,
        schema: ResolvedSchema,
        rows: Iterable[Row] = (),
        *,
        is_query: bool = False,
        success_only: bool = False,
        job_id: str | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        self.schema = schema
        self.is_query = is_query
        self.success_only = success_only
        self.job_id = job_id
        self._capacity = capacity
        self._waiting: deque[Row] = deque(rows)
        self._changed = threading.Condition()
        self._token = 0
        self._last_page: list[Row] = []
        self._at_end = False
        self._error: BaseException | None = None
        self._reader: threading.Thread | None = None
        self._stop: Callable[[], None] = lambda: None
        self._closed = False

    def read_from(self, open_rows: Callable[[], Iterator[Row]], stop: Callable[[], None]) -> None:
        """Rows that are still to come, read in a thread of its own.

        Args:
            open_rows: Called in that thread.
            stop: Makes the thread, which may wait for its next row, come back; called by another one.
        """
        self._stop = stop
        self._reader = threading.Thread(
            target=self._read, args=(open_rows,), name="sql-gateway-result", daemon=True
        )
        self._reader.start()

    def fetch(self, token: int) -> Page:
        """A page.

        Raises:
            GatewayError: There is no such page.
        """
        with self._changed:
            if token == self._token:
                return self._next()
            if token == self._token - 1:
                return Page(list(self._last_page), self._token)
            expected = f"{self._token} or {self._token - 1}" if self._token else "0"
            raise GatewayError(f"Expecting token to be {expected}, but found {token}.")

    def has_news(self) -> bool:
        """Whether the next page would show something: rows, the end, or an error."""
        with self._changed:
            return bool(self._waiting) or not self._reading

    def close(self) -> None:
        """Ends what makes the rows; returns when its thread is down, or after some seconds without it."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._reader is not None and self._reader.is_alive():
            self._stop()
            self._reader.join(_PATIENCE_SECONDS)

    @property
    def _reading(self) -> bool:
        return self._reader is not None and self._reader.is_alive() and not self._at_end

    def _next(self) -> Page:
        if not self._waiting and not self._reading:
            if self._error is not None:
                raise self._error
            self._last_page = []
            return Page([], None)
        self._last_page = list(self._waiting)
        self._waiting.clear()
        self._token += 1
        self._changed.notify_all()
        return Page(list(self._last_page), self._token)

    def _read(self, open_rows: Callable[[], Iterator[Row]]) -> None:
        try:
            rows = open_rows()
            try:
                for row in rows:
                    if not self._offer(row):
                        break
            finally:
                close = getattr(rows, "close", None)
                if close is not None:
                    close()
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._at_end = True
                self._changed.notify_all()

    def _offer(self, row: Row) -> bool:
        """Waits until there is room; False if nobody wants rows any more."""
        with self._changed:
            while len(self._waiting) >= self._capacity and not self._closed:
                self._changed.wait()
            if not self._closed:
                self._waiting.append(row)
            return not self._closed
