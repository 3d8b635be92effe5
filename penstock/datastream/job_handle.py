"""A running job behind the `JobClient` that `execute_async` returns: waits happen on threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from penstock.common.job_client import JobClient, JobHandle
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus

__all__ = ["RunningJobHandle", "job_client"]


class RunningJobHandle(JobHandle):
    """Passes questions on to a `RunningJob`."""

    def __init__(self, job: Any) -> None:
        self._job = job
        self.job_id = job.job_id if isinstance(job.job_id, JobID) else JobID(job.job_id)

    def status(self) -> JobStatus:
        """Where the job stands now."""
        return self._job.status()  # type: ignore[no-any-return]

    def result(self) -> Future[JobExecutionResult]:
        """Done when the job is; fails as the job fails."""
        return _in_background(self._job.wait)

    def cancel(self) -> Future[None]:
        """Done when the job has stopped."""
        return _in_background(self._job.cancel)

    def trigger_savepoint(self, directory: str | None) -> Future[str]:
        """Done when the savepoint is complete; its path is the result."""
        return _in_background(lambda: self._job.trigger_savepoint(directory))

    def stop_with_savepoint(self, directory: str | None, advance_to_end_of_event_time: bool) -> Future[str]:
        """Done when the savepoint is complete and the job has ended; its path is the result."""
        return _in_background(lambda: self._job.stop_with_savepoint(advance_to_end_of_event_time, directory))

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        """Done when the savepoint is complete and the job has stopped; its path is the result."""
        return _in_background(lambda: self._job.cancel_with_savepoint(directory))

    def rescale(self, parallelism: int | Mapping[str, int]) -> Future[None]:
        """Another parallelism, from the next epoch on."""
        return _in_background(lambda: self._job.rescale(parallelism))

    def query_state(self, uid: str, state: str) -> Any:
        """What an operator's state holds now."""
        return self._job.query_state(uid, state)

    def accumulators(self) -> dict[str, Any]:
        """The accumulators' values, as far as the last complete epoch."""
        return self._job.accumulators()  # type: ignore[no-any-return]


def job_client(job: Any) -> JobClient:
    """The client of a running job."""
    return JobClient(RunningJobHandle(job))


def _in_background(call: Callable[[], Any]) -> Future[Any]:
    future: Future[Any] = Future()

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="penstock-job-client", daemon=True).start()
    return future
