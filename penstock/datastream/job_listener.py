"""Listeners that hear of an environment's jobs: when one is submitted and when `execute()` has its result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.common.job_client import JobClient
    from penstock.common.job_execution_result import JobExecutionResult

__all__ = ["JobListener", "announced"]


class JobListener(ABC):
    """Registered with `env.register_job_listener` (Java API). Exactly one of the two arguments is None."""

    @abstractmethod
    def on_job_submitted(self, job_client: JobClient | None, throwable: BaseException | None) -> None:
        """A job was started, or could not be."""

    @abstractmethod
    def on_job_executed(
        self, job_execution_result: JobExecutionResult | None, throwable: BaseException | None
    ) -> None:
        """A job that `execute()` waited for has ended. Not called after `execute_async()`."""


@dataclass
class Announcement:
    """What the listeners are told."""

    result: JobExecutionResult | None = None


@contextmanager
def announced(listeners: Sequence[JobListener]) -> Iterator[Announcement]:
    """Tells the listeners how the block ended."""
    announcement = Announcement()
    try:
        yield announcement
    except BaseException as error:
        for listener in listeners:
            listener.on_job_executed(None, error)
        raise
    for listener in listeners:
        listener.on_job_executed(announcement.result, None)
