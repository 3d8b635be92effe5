"""A statement that was handed in: its status, its result or its error, and the way to end it.

    INITIALIZED ─▶ PENDING ─▶ RUNNING ─▶ FINISHED ─▶ CLOSED        also from CANCELED and ERROR
         └──────────┴───────────┴─▶ CANCELED, ERROR, CLOSED

FINISHED means that there is something to fetch: a streaming query is FINISHED while its job runs. Closing ends
the job of a query; the job of an INSERT goes on.
"""

from __future__ import annotations

import enum
import threading
import uuid
from collections.abc import Callable

from penstock.gateway.errors import GatewayError
from penstock.gateway.result_pages import Page, ResultPages

__all__ = ["Operation", "OperationStatus"]

_PATIENCE_SECONDS = 5.0


class OperationStatus(enum.Enum):
    INITIALIZED = "INITIALIZED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    CLOSED = "CLOSED"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"


_NOT_READY = (OperationStatus.INITIALIZED, OperationStatus.PENDING, OperationStatus.RUNNING)


class Cancelled(Exception):
    """Raised inside a statement that somebody has cancelled."""


class Operation:
    """What `work` makes of a statement. It is called once, in a worker's thread, with the operation itself."""

    def __init__(self, work: Callable[[Operation], ResultPages]) -> None:
        self.handle = str(uuid.uuid4())
        self._work = work
        self._lock = threading.Lock()
        self._status = OperationStatus.INITIALIZED
        self._pages: ResultPages | None = None
        self._error: BaseException | None = None
        self._on_cancel: Callable[[], None] | None = None
        self._down = threading.Event()

    @property
    def status(self) -> OperationStatus:
        return self._status

    @property
    def is_waiting(self) -> bool:
        """Whether it is handed in and has not begun."""
        return self._status in (OperationStatus.INITIALIZED, OperationStatus.PENDING)

    @property
    def error(self) -> BaseException | None:
        return self._error

    @property
    def cancelled(self) -> bool:
        return self._status in (OperationStatus.CANCELED, OperationStatus.CLOSED)

    def submitted(self) -> None:
        with self._lock:
            if self._status is OperationStatus.INITIALIZED:
                self._status = OperationStatus.PENDING

    def run(self) -> None:
        """In a worker's thread."""
        with self._lock:
            if self._status not in _NOT_READY:
                self._down.set()
                return
            self._status = OperationStatus.RUNNING
        pages: ResultPages | None = None
        try:
            pages = self._work(self)
        except BaseException as error:
            self._fail(error)
        else:
            self._finish(pages)
        finally:
            self._on_cancel = None
            self._down.set()

    def fail(self, error: BaseException) -> None:
        """It could not even be begun."""
        self._fail(error)
        self._down.set()

    def cancellable(self, cancel: Callable[[], None]) -> None:
        """What ends the long part of the work that begins now; called from another thread.

        Raises:
            Cancelled: Somebody was faster.
        """
        with self._lock:
            if self.cancelled:
                raise Cancelled
            self._on_cancel = cancel

    def wait(self, seconds: float | None = None) -> bool:
        """Until it is FINISHED, or has failed or been given up."""
        return self._down.wait(seconds)

    def fetch(self, token: int) -> Page | None:
        """A page of the result; None while there is none yet."""
        with self._lock:
            status, pages, error = self._status, self._pages, self._error
        if status in _NOT_READY:
            return None
        if error is not None:
            raise error
        if status is not OperationStatus.FINISHED or pages is None:
            raise GatewayError(f"Can not fetch results from the {self.handle} in {status.name} status.")
        return pages.fetch(token)

    @property
    def pages(self) -> ResultPages | None:
        return self._pages

    def has_news(self) -> bool:
        """Whether a fetch would show something new."""
        if self._status in _NOT_READY:
            return False
        return self._pages is None or self._pages.has_news()

    def cancel(self) -> None:
        """Ends the statement.

        Raises:
            GatewayError: It has ended already.
        """
        with self._lock:
            if self._status not in _NOT_READY:
                raise GatewayError(
                    f"Failed to convert the Operation Status from {self._status.name} to CANCELED "
                    f"for {self.handle}."
                )
            self._status = OperationStatus.CANCELED
        self._release()

    def close(self) -> None:
        """Ends the statement, if it runs, and lets go of its result."""
        with self._lock:
            if self._status is OperationStatus.CLOSED:
                return
            self._status = OperationStatus.CLOSED
        self._release()

    def _release(self) -> None:
        with self._lock:
            cancel, pages = self._on_cancel, self._pages
        if cancel is not None and not self._down.is_set():
            cancel()
            self._down.wait(_PATIENCE_SECONDS)
        if pages is not None:
            pages.close()

    def _finish(self, pages: ResultPages) -> None:
        with self._lock:
            wanted = self._status is OperationStatus.RUNNING
            if wanted:
                self._pages = pages
                self._status = OperationStatus.FINISHED
        if not wanted:
            pages.close()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if not self.cancelled:
                self._error = error
                self._status = OperationStatus.ERROR
