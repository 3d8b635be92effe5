"""A result that comes later."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

__all__ = ["CompletableFuture"]


class CompletableFuture:
    """Wraps a `concurrent.futures.Future`; several may stand for the same one.

    Args:
        future: Where the result arrives.
        convert: Applied to the result whenever it is asked for.
    """

    def __init__(
        self, future: Future[Any] | None = None, convert: Callable[[Any], Any] | None = None
    ) -> None:
        self._future: Future[Any] = Future() if future is None else future
        self._convert = convert

    @staticmethod
    def completed(value: Any) -> CompletableFuture:
        """A future that is done already."""
        future: Future[Any] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    @staticmethod
    def failed(error: BaseException) -> CompletableFuture:
        """A future that has failed already."""
        future: Future[Any] = Future()
        future.set_exception(error)
        return CompletableFuture(future)

    def set_result(self, value: Any) -> None:
        """Complete it. Only one of set_result, set_exception and cancel can win."""
        self._future.set_result(value)

    def set_exception(self, exception: BaseException) -> None:
        """Ends the future with an error, which `result()` raises."""
        self._future.set_exception(exception)

    def cancel(self) -> bool:
        """Give up on the result, if it is not there yet; whether it is cancelled now."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether the future was cancelled before it had a result."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether there is a result, an exception or a cancellation."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result; raises what made it fail."""
        value = self._future.result(timeout)
        return value if self._convert is None else self._convert(value)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end; the exception, or None if all went well."""
        try:
            return self._future.exception(timeout)
        except CancelledError as error:
            return error

    def add_done_callback(self, callback: Callable[[CompletableFuture], None]) -> None:
        """Call `callback` with this future when it is done, at once if it already is."""
        self._future.add_done_callback(lambda _: callback(self))
