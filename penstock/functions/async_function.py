"""Asynchronous functions: many requests to an outside system at a time, and when to repeat one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.common.subscripts import Subscriptable
from penstock.functions.base import Function

__all__ = ["AsyncFunction", "AsyncRetryPredicate", "AsyncRetryStrategy"]


class AsyncFunction(Function):
    """Asks an outside system about each element without waiting for one answer before the next question."""

    @abstractmethod
    async def async_invoke(self, value: Any) -> list[Any]:
        """Called for every element, in an event loop; returns the list of results."""

    def timeout(self, value: Any) -> list[Any]:
        """Called when `async_invoke` did not answer in time; returns results instead, or raises as here."""
        raise TimeoutError("async function call has timed out")


class AsyncRetryPredicate(Subscriptable, ABC):
    """Which outcomes are worth another try."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[Any]], bool] | None:
        """True for a result list that should be asked for again; None: results are never retried."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """True for an exception after which to try again; None: exceptions are never retried."""


class AsyncRetryStrategy(Subscriptable, ABC):
    """How often and after which delay an asynchronous call is repeated.

    Attempts count from 1: before the second call the strategy is asked about attempt 1.
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there may be a try after attempt number `current_attempts`."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before it."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Which outcomes are worth it."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """Never tries again."""
        from penstock.functions.async_retry import NoRetryStrategy

        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[Any]], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> AsyncRetryStrategy:
        """Tries `max_attempts` times more, always after the same delay."""
        from penstock.functions.async_retry import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[Any]], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> AsyncRetryStrategy:
        """Tries `max_attempts` times more, each delay `multiplier` times the one before."""
        from penstock.functions.async_retry import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )
