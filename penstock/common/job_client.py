"""A handle on one job: ask how it is, wait for it, take a savepoint, stop it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.errors import NotSupportedError
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus

__all__ = ["JobClient", "JobHandle"]


class JobHandle(ABC):
    """What the runtime offers about a job it runs, and `JobClient` passes on.

    Methods that take time return a `Future` at once; none of them blocks.
    """

    job_id: JobID

    @abstractmethod
    def status(self) -> JobStatus:
        """Where the job stands now."""

    @abstractmethod
    def result(self) -> Future[JobExecutionResult]:
        """Done when the job has ended; fails with what made the job fail."""

    @abstractmethod
    def cancel(self) -> Future[None]:
        """Ends the job after the running epoch, without a savepoint."""

    @abstractmethod
    def trigger_savepoint(self, directory: str | None) -> Future[str]:
        """The savepoint's path, once it is complete."""

    @abstractmethod
    def stop_with_savepoint(self, directory: str | None, advance_to_end_of_event_time: bool) -> Future[str]:
        """Ends the job with a savepoint; with the last flag, event time runs to its end first."""

    @abstractmethod
    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        """Takes a savepoint and cancels the job there."""

    def query_state(self, uid: str, state: str) -> Any:
        """Committed keyed state of an operator; see `penstock.runtime.state_queries.QueryableState`."""
        raise NotSupportedError("asking for the state of this job", "it keeps none: it is a bounded query")

    def rescale(self, parallelism: int | Mapping[str, int]) -> Future[None]:
        """Done when the job goes on with another parallelism."""
        raise NotSupportedError(
            "another parallelism for this job", "it is a bounded query, which Spark has planned"
        )

    @abstractmethod
    def accumulators(self) -> dict[str, Any]:
        """The accumulators as of the last committed epoch."""


class JobClient:
    """What `execute_async` returns."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle

    def get_job_id(self) -> JobID:
        """The id under which the job's checkpoints lie."""
        return self._handle.job_id

    def get_job_status(self) -> CompletableFuture:
        """The job's `JobStatus`."""
        return CompletableFuture.completed(self._handle.status())

    def cancel(self) -> CompletableFuture:
        """Ends the job; done when it has ended."""
        return CompletableFuture(self._handle.cancel())

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Takes a savepoint and ends the job; the result is the savepoint's path.

        Args:
            advance_to_end_of_event_time: Whether to send the last watermark first, so that every window
                and timer fires.
            savepoint_directory: Where to put it; `execution.checkpointing.savepoint-dir` unless given.
        """
        return CompletableFuture(
            self._handle.stop_with_savepoint(savepoint_directory, advance_to_end_of_event_time)
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Takes a savepoint while the job goes on; the result is its path."""
        return CompletableFuture(self._handle.trigger_savepoint(savepoint_directory))

    def cancel_with_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Takes a savepoint and cancels the job; the result is the savepoint's path."""
        return CompletableFuture(self._handle.cancel_with_savepoint(savepoint_directory))

    def query_state(self, operator_uid: str, state_name: str) -> Any:
        """Looks up committed keyed state while the job runs: `get(key)`, `between(start, end)`.

        Answers are of the newest committed epoch.
        """
        return self._handle.query_state(operator_uid, state_name)

    def rescale(self, parallelism: int | Mapping[str, int]) -> CompletableFuture:
        """Gives the job another parallelism between two epochs; done when it goes on with that.

        Args:
            parallelism: For all operators to which the program has not given one, or by operator uid.
        """
        return CompletableFuture(self._handle.rescale(parallelism))

    def get_accumulators(self) -> CompletableFuture:
        """The accumulators by name, now or as they were at the end."""
        return CompletableFuture.completed(self._handle.accumulators())

    def get_job_execution_result(self) -> CompletableFuture:
        """The `JobExecutionResult`, when the job has ended; raises what made it fail."""
        return CompletableFuture(self._handle.result())
