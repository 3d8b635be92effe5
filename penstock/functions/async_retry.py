"""Retry strategies for asynchronous functions, and predicates that are often wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.errors import ValidationError
from penstock.functions.async_function import AsyncRetryPredicate, AsyncRetryStrategy

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]

ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[Exception], bool]


class RetryPredicate(AsyncRetryPredicate):
    """A predicate made of two callables."""

    def __init__(
        self, result_predicate: ResultPredicate | None, exception_predicate: ExceptionPredicate | None
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        """Says of a result whether to try again, None if results are never tried again."""
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        """Says of an exception whether to try again, None if exceptions are never tried again."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy):
    """One try and no more."""

    def can_retry(self, current_attempts: int) -> bool:
        """Never."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """-1: there is nothing to wait for."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """A predicate that asks for nothing to be tried again."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy):
    """The same delay before every further try."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        _require_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Whether this attempt is among the ones allowed."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The same wait before every attempt."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """What is tried again."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy):
    """Delays that grow by a factor up to a maximum.

    The delay is computed from the attempt alone, so that one strategy object serves many elements at once.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        _require_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Whether this attempt is among the ones allowed."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """A wait that grows with every attempt, up to the longest allowed."""
        delay = self._initial_delay
        for _ in range(1, current_attempts):
            delay = int(min(delay * self._multiplier, self._max_retry_delay))
        return delay

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """What is tried again."""
        return self._predicate


NO_RETRY_STRATEGY: AsyncRetryStrategy = NoRetryStrategy()


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Retry when the call gave no result."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Retry after any exception."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Retry after exceptions of one type; bind the type with `functools.partial` or a lambda."""
    return isinstance(error, expected_error_type)


def _require_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if number <= 0:
            raise ValidationError(f"{name} of a retry strategy must be positive, got {number}")
