"""A job that was submitted: its thread, its status, and the ways to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from penstock.checkpoint.contents import StateContents
from penstock.common.errors import (
    JobCancelledError,
    JobEndedError,
    JobExecutionError,
    PenstockError,
    ValidationError,
)
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.runtime import job_registry
from penstock.runtime.coordinator import Coordinator
from penstock.runtime.history import now_ms
from penstock.runtime.job_description import JobDescription
from penstock.runtime.loop_request import LoopRequest
from penstock.runtime.progress_line import progress_line
from penstock.runtime.state_queries import QueryableState, committed_state
from penstock.runtime.statistics import JobStatistics

SavepointWriter = Callable[[str], str]
_IN_BETWEEN = {"CANCELLING": JobStatus.CANCELLING, "RESTARTING": JobStatus.RESTARTING}


def running_job(name: str) -> RunningJob | None:
    """The job of this process that has this id or this name; None if there is none.

    Raises:
        ValidationError: Several jobs have the name.
    """
    found = [job for job in job_registry.jobs() if name in (job.job_id, job.job_name)]
    if len(found) > 1:
        ids = ", ".join(job.job_id for job in found)
        raise ValidationError(f"{len(found)} jobs are called '{name}'", do=f"use the id of one: {ids}")
    return found[0] if found else None


class RunningJob:
    """What `execute_async` leads to. All methods may be called from any thread."""

    def __init__(
        self, job_name: str, coordinator: Coordinator, write_savepoint: SavepointWriter,
        clean_up: Callable[[JobStatus], None], description: JobDescription | None = None,
    ) -> None:  # fmt: skip
        self.job_id = coordinator.job.job_id
        self.job_name = job_name
        self.description = description or JobDescription()
        self._coordinator = coordinator
        self._write_savepoint = write_savepoint
        self._clean_up = clean_up
        self._status = JobStatus.CREATED
        self.statistics.lifecycle.enter("CREATED")
        self._error: BaseException | None = None
        self._started = time.time()
        self._ended: float | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"penstock-{self.job_id[:8]}", daemon=True)

    def start(self) -> RunningJob:
        self._status = JobStatus.RUNNING
        self.statistics.lifecycle.enter("RUNNING")
        job_registry.job_started(self)
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            self._coordinator.run()
            self._status = JobStatus.CANCELED if self._coordinator.cancelled else JobStatus.FINISHED
        except BaseException as error:
            self._error = error
            self._status = JobStatus.FAILED
        finally:
            self._ended = time.time()
            self.statistics.lifecycle.enter(self._status.name)
            try:
                self._clean_up(self._status)
            finally:
                job_registry.job_ended(self)
                self._done.set()

    @property
    def has_ended(self) -> bool:
        """Whether the job has ended, and everything of it has been cleaned up."""
        return self._done.is_set()

    @property
    def start_time(self) -> float:
        """When it was submitted, in seconds since 1970."""
        return self._started

    def status(self) -> JobStatus:
        if self._status is JobStatus.RUNNING:
            return _IN_BETWEEN.get(self.statistics.lifecycle.current, JobStatus.RUNNING)
        return self._status

    @property
    def error(self) -> BaseException | None:
        """What made the job fail."""
        return self._error

    @property
    def coordinator(self) -> Coordinator:
        return self._coordinator

    @property
    def statistics(self) -> JobStatistics:
        return self._coordinator.statistics

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Waits for the end of the job.

        Raises:
            JobExecutionError: The job failed; its cause is the first error that was final.
            JobCancelledError: The job was cancelled.
            TimeoutError: It still runs after `timeout` seconds.
        """
        try:
            with progress_line(self.job_name, self.statistics) if timeout is None else nullcontext():
                ended = self._done.wait(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if not ended:
            raise TimeoutError(f"job '{self.job_name}' still runs after {timeout} s")
        if self._error is not None:
            raise self._failure(self._error) from self._error
        if self._status is JobStatus.CANCELED:
            raise JobCancelledError(f"job '{self.job_name}' was cancelled")
        return self.result()

    def _failure(self, error: BaseException) -> PenstockError:
        failure = JobExecutionError(f"job '{self.job_name}' failed: {error}")
        if isinstance(error, PenstockError):
            failure.domain, failure.retryable = error.domain, error.retryable
        return failure

    def result(self) -> JobExecutionResult:
        runtime_ms = int(((self._ended or time.time()) - self._started) * 1000)
        return JobExecutionResult(JobID(self.job_id), runtime_ms, self.accumulators())

    def accumulators(self) -> dict[str, Any]:
        return self.statistics.accumulators()

    def query_state(self, uid: str, state: str) -> QueryableState:
        """Committed keyed state of an operator, for looking up keys while the job runs.

        Raises:
            CheckpointError: There is no such operator or state, or nothing has been committed yet.
            JobEndedError: The job has ended.
        """

        def newest() -> StateContents:
            if self.has_ended:
                raise JobEndedError(
                    f"no state of job '{self.job_name}': it has ended ({self._status.name})",
                    where=f"job {self.job_id}",
                    do="read a savepoint or a checkpoint that it retained (penstock.state_processor)",
                )
            return committed_state(self._coordinator)

        return QueryableState(newest, uid, state)

    def cancel(self) -> None:
        """Stops after undoing the running epoch; returns when the job is down."""
        self._coordinator.cancel()
        if threading.current_thread() is not self._thread:
            self._done.wait()

    def trigger_savepoint(self, directory: str | None = None) -> str:
        """Writes a savepoint between two epochs; the job goes on. Returns its path.

        Raises:
            JobEndedError: The job has ended, or does so before the savepoint could be written.
        """
        path: str = self._ask(lambda: self._savepoint(directory), ends_job=False)
        return path

    def trigger_checkpoint(self) -> int:
        """The number of a checkpoint that has everything the job has done until now.

        Every epoch is a checkpoint, so this waits for the running one.

        Raises:
            JobEndedError: The job has ended.
        """
        return int(self._ask(self._coordinator.checkpoint_now, ends_job=False))

    def _savepoint(self, directory: str | None, stops_job: bool = False) -> str:
        began_ms = now_ms()
        path = self._write_savepoint(_given(directory))
        epoch = int(self._coordinator.progress.epoch)
        self.statistics.checkpoints.savepoint_of(path, began_ms, epoch, stops_job)
        return path

    def stop_with_savepoint(self, drain: bool = False, directory: str | None = None) -> str:
        """Writes a savepoint and ends the job there.

        Args:
            drain: Let event time run to its end first, so that all windows and timers fire. What is in the
                savepoint then has ended: it is for reading, not for going on from.
            directory: Where to; the configured savepoint directory if None.

        Raises:
            JobEndedError: The job ended by itself before.
        """

        def stop() -> str:
            if drain:
                self._coordinator.drain()
            return self._savepoint(directory, stops_job=True)

        path: str = self._ask(stop, ends_job=True)
        self._done.wait()
        return path

    def cancel_with_savepoint(self, directory: str | None = None) -> str:
        """Writes a savepoint and cancels the job there, as `cancel` would; returns its path.

        Unlike a job that is stopped, a cancelled one keeps its checkpoints if the configuration says so, and `wait`
        raises.

        Raises:
            JobEndedError: The job ended by itself before.
        """

        def stop() -> str:
            path = self._savepoint(directory, stops_job=True)
            self._coordinator.cancel()
            return path

        path: str = self._ask(stop, ends_job=True)
        self._done.wait()
        return path

    def rescale(self, parallelism: int | Mapping[str, int]) -> None:
        """Goes on with another parallelism after the epoch that runs; returns when that is so.

        Args:
            parallelism: For all operators to which the program has not given one, or by operator uid.

        Raises:
            ValidationError: There is no such operator, or it cannot have that parallelism; the job goes on as it was.
            JobEndedError: The job has ended.
        """
        self._ask(lambda: self._coordinator.rescale(parallelism), ends_job=False)

    def _ask(self, action: Callable[[], Any], ends_job: bool) -> Any:
        request: LoopRequest = self._coordinator.between_epochs(action, ends_job)
        request.done.wait()
        if request.refused:
            self._done.wait()  # then the status is final
            raise self._has_ended() from self._error
        if request.error is not None:
            raise request.error
        return request.answer

    def _has_ended(self) -> JobEndedError:
        return JobEndedError(
            f"no savepoint of job '{self.job_name}': it has ended ({self._status.name})",
            where=f"job {self.job_id}",
            do="take savepoints while a job runs; what a failed job retained is under execution.checkpointing.dir",
        )


def _given(directory: str | None) -> str:
    return directory or ""
