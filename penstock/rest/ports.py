"""Jobs as the REST interface holds them, wherever they run.

A job of this process is asked directly; one in a program's own process through its channel (`session/`); one that has
ended is what was archived of it when it ended. All three answer reads and, while they run, can be steered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock.common.errors import JobEndedError, PenstockError
from penstock.rest.messages import Answer, Request, not_found
from penstock.rest.requirements import Bounds, update_requirements
from penstock.runtime.running_job import RunningJob

__all__ = ["EndedJob", "JobPort", "LocalJob"]


class JobPort(Protocol):
    """One job. Methods that steer block until it is done, and raise what went wrong."""

    job_id: str

    def ended_as(self) -> str | None:
        """The state that it has ended in, as everybody who reads it is told; None while it runs.

        A job has that state before it is archived, while what it used is still being cleaned up.
        """

    def answer(self, request: Request) -> Answer: ...

    def overview(self) -> dict[str, Any]: ...

    def overview_later(self) -> Callable[[], dict[str, Any]]:
        """Asks for the overview; what it returns waits for it. So many jobs can be asked at a time."""

    def cancel(self) -> None: ...

    def trigger_savepoint(self, directory: str | None) -> str: ...

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> str: ...

    def cancel_with_savepoint(self, directory: str | None) -> str: ...

    def trigger_checkpoint(self) -> int: ...

    def update_requirements(self, bounds: Bounds) -> None: ...

    def savepoint_directory(self) -> str | None:
        """Where savepoints go for which nobody names a place."""


ReadJob = Callable[[RunningJob, Request], Answer]


class LocalJob:
    """A job that runs in this process."""

    def __init__(self, job: RunningJob, read: ReadJob) -> None:
        self.job_id = job.job_id
        self.job = job
        self._read = read

    def ended_as(self) -> str | None:
        life = self.job.statistics.lifecycle
        return life.current if life.end_ms >= 0 else None

    def answer(self, request: Request) -> Answer:
        return self._read(self.job, request)

    def overview(self) -> dict[str, Any]:
        from penstock.rest.views import jobs

        return jobs.overview(self.job.statistics)

    def overview_later(self) -> Callable[[], dict[str, Any]]:
        return self.overview

    def cancel(self) -> None:
        self.job.cancel()

    def trigger_savepoint(self, directory: str | None) -> str:
        return self.job.trigger_savepoint(directory)

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> str:
        return self.job.stop_with_savepoint(drain, directory)

    def cancel_with_savepoint(self, directory: str | None) -> str:
        return self.job.cancel_with_savepoint(directory)

    def trigger_checkpoint(self) -> int:
        return self.job.trigger_checkpoint()

    def update_requirements(self, bounds: Bounds) -> None:
        update_requirements(self.job, bounds)

    def savepoint_directory(self) -> str | None:
        return savepoint_directory_of(self.job.statistics.job.configuration)


def savepoint_directory_of(configuration: Mapping[str, str]) -> str | None:
    from penstock.common.options import CheckpointingOptions

    known = CheckpointingOptions.SAVEPOINT_DIRECTORY
    return next((configuration[k] for k in (known.key, *known.fallback_keys) if k in configuration), None)


class EndedJob:
    """What was archived of a job: answers by path."""

    def __init__(self, job_id: str, answers: Mapping[str, Any]) -> None:
        self.job_id = job_id
        self.answers = answers

    def ended_as(self) -> str | None:
        return str(self.overview()["state"])

    def answer(self, request: Request) -> Answer:
        if request.path in self.answers:
            return Answer(self.answers[request.path])
        if request.path.endswith("/metrics"):
            return Answer([])
        raise not_found(f"{request.path} is not known of job {self.job_id}: {self._why_not()}.")

    def overview(self) -> dict[str, Any]:
        listed: dict[str, Any] = self.answers["/jobs/overview"]["jobs"][0]
        return listed

    def overview_later(self) -> Callable[[], dict[str, Any]]:
        return self.overview

    def cancel(self) -> None:
        raise self._refused()

    def trigger_savepoint(self, directory: str | None) -> str:
        raise self._refused()

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> str:
        raise self._refused()

    def cancel_with_savepoint(self, directory: str | None) -> str:
        raise self._refused()

    def trigger_checkpoint(self) -> int:
        raise self._refused()

    def update_requirements(self, bounds: Bounds) -> None:
        raise self._refused()

    def savepoint_directory(self) -> str | None:
        return None

    def _why_not(self) -> str:
        return f"it has ended ({self.ended_as()})"

    def _refused(self) -> PenstockError:
        return JobEndedError(f"job {self.job_id} has ended ({self.ended_as()})", where=f"job {self.job_id}")
