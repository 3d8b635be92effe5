"""The jobs of this process, running ones and the last that have ended: what SHOW JOBS shows.

A job that runs is held as it is; one that has ended is only remembered, by `EndedJob`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from penstock.common.errors import JobEndedError, ValidationError
from penstock.common.job_status import JobStatus

__all__ = ["EndedJob", "ListedJob", "find_job", "list_job", "list_jobs", "listing", "remember_job"]

_REMEMBERED = 200


class ListedJob(Protocol):
    """What a job has to offer to be seen and stopped."""

    @property
    def job_id(self) -> str: ...

    @property
    def job_name(self) -> str: ...

    @property
    def start_time(self) -> float:
        """Seconds since 1970."""

    def status(self) -> JobStatus: ...

    def cancel(self) -> None: ...

    def stop_with_savepoint(self, drain: bool = False, directory: str | None = None) -> str: ...


@dataclass(frozen=True)
class EndedJob:
    """What is remembered of a job that has ended."""

    job_id: str
    job_name: str
    start_time: float
    final_status: JobStatus

    def status(self) -> JobStatus:
        return self.final_status

    def cancel(self) -> None:
        raise self._has_ended()

    def stop_with_savepoint(self, drain: bool = False, directory: str | None = None) -> str:
        raise self._has_ended()

    def _has_ended(self) -> JobEndedError:
        return JobEndedError(
            f"job '{self.job_name}' cannot be stopped: it has ended ({self.final_status.name})",
            where=f"job {self.job_id}",
        )


_lock = threading.Lock()
_running: dict[str, ListedJob] = {}
_ended: OrderedDict[str, EndedJob] = OrderedDict()


def list_job(job: ListedJob) -> None:
    """A job that begins to run."""
    with _lock:
        _running[job.job_id] = job


def remember_job(job: ListedJob) -> None:
    """A job that has ended."""
    with _lock:
        _running.pop(job.job_id, None)
        _ended[job.job_id] = EndedJob(job.job_id, job.job_name, job.start_time, job.status())
        while len(_ended) > _REMEMBERED:
            _ended.popitem(last=False)


class _Listing:
    """Is told of streaming jobs by the registry; batch jobs list themselves."""

    def job_started(self, job: ListedJob) -> None:
        list_job(job)

    def job_ended(self, job: ListedJob) -> None:
        remember_job(job)


listing = _Listing()


def list_jobs() -> list[ListedJob]:
    """All of them, those first that began first."""
    with _lock:
        found: list[ListedJob] = [*_running.values(), *_ended.values()]
    return sorted(found, key=lambda job: job.start_time)


def find_job(job_id: str) -> ListedJob:
    """The job with this id.

    Raises:
        ValidationError: There is none.
    """
    with _lock:
        found = _running.get(job_id) or _ended.get(job_id)
    if found is None:
        raise ValidationError(
            f"job {job_id} does not exist here", do="SHOW JOBS lists the jobs and their ids"
        )
    return found
