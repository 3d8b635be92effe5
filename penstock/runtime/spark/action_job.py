"""A batch statement as a job of its own: a thread whose Spark jobs share a group and can be ended together."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from penstock.common.errors import JobCancelledError, JobEndedError, NotSupportedError
from penstock.common.job_status import JobStatus
from penstock.runtime.job_list import list_job, remember_job
from penstock.runtime.spark.context import running_context

__all__ = ["ActionJob"]


class ActionJob:
    """Runs `action` in a thread of its own; `status`, `wait` and `cancel` may be called from any thread."""

    def __init__(self, job_name: str, action: Callable[[], Any]) -> None:
        self.job_id = uuid.uuid4().hex
        self.job_name = job_name
        self._action = action
        self._started = time.time()
        self._status = JobStatus.CREATED
        self._cancelled = False
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"batch-{self.job_id[:8]}", daemon=True)

    def start(self) -> ActionJob:
        self._status = JobStatus.RUNNING
        list_job(self)
        self._thread.start()
        return self

    @property
    def start_time(self) -> float:
        return self._started

    @property
    def has_ended(self) -> bool:
        return self._done.is_set()

    def status(self) -> JobStatus:
        return self._status

    def result(self) -> Any:
        """What the action returned, when it has ended.

        Raises:
            JobCancelledError: It was cancelled.
        """
        self._done.wait()
        if self._cancelled:
            raise JobCancelledError(f"job '{self.job_name}' was cancelled") from self._error
        if self._error is not None:
            raise self._error
        return self._result

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended within so many seconds."""
        return self._done.wait(timeout)

    def cancel(self) -> None:
        """Ends its Spark jobs; returns when the thread is down.

        Raises:
            JobEndedError: It has ended by itself.
        """
        if self.has_ended and not self._cancelled:
            raise JobEndedError(f"job '{self.job_name}' has ended ({self._status.name})")
        self._cancelled = True
        while True:
            self._cancel_spark_jobs()
            if self._done.wait(_AGAIN_SECONDS):
                return

    def stop_with_savepoint(self, drain: bool = False, directory: str | None = None) -> str:
        raise NotSupportedError(
            "a savepoint of a batch job",
            "it has no state to go on from",
            do="STOP JOB without WITH SAVEPOINT",
        )

    def _cancel_spark_jobs(self) -> None:
        context = running_context()
        if context is not None:
            context.cancelJobGroup(self.job_id)

    def _run(self) -> None:
        try:
            context = running_context()
            if context is not None:
                context.setJobGroup(self.job_id, self.job_name, interruptOnCancel=True)
            self._result = self._action()
            self._status = JobStatus.FINISHED
        except BaseException as error:
            self._error = error
            self._status = JobStatus.FAILED
        finally:
            if self._cancelled:
                self._status = JobStatus.CANCELED
            remember_job(self)
            self._done.set()


_AGAIN_SECONDS = 0.5
"""A statement may be between two Spark jobs when it is cancelled: the group is cancelled again until it is down."""
