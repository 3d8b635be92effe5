"""The jobs of this process, and who wants to know when one starts or ends.

The REST interface, metric reporters and archives watch jobs from here; the runtime knows none of them. A watcher that
fails is told in the log and does not disturb the job.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from penstock.runtime.running_job import RunningJob

__all__ = ["JobWatcher", "job_ended", "job_started", "jobs", "unwatch_jobs", "watch_jobs"]

LOG = logging.getLogger(__name__)


class JobWatcher(Protocol):
    """Is told about every job of the process, on the thread that starts it and the one that ends it."""

    def job_started(self, job: RunningJob) -> None: ...

    def job_ended(self, job: RunningJob) -> None:
        """The status is final; `job.wait()` returns after this."""


_lock = threading.Lock()
_jobs: dict[str, RunningJob] = {}
_watchers: list[JobWatcher] = []


def jobs() -> list[RunningJob]:
    """The jobs that run now."""
    with _lock:
        return list(_jobs.values())


def watch_jobs(watcher: JobWatcher) -> None:
    """From now on; it is told at once of the jobs that run already."""
    with _lock:
        _watchers.append(watcher)
        running = list(_jobs.values())
    for job in running:
        _tell(watcher, "job_started", job)


def unwatch_jobs(watcher: JobWatcher) -> None:
    with _lock:
        if watcher in _watchers:
            _watchers.remove(watcher)


def job_started(job: RunningJob) -> None:
    with _lock:
        _jobs[job.job_id] = job
        watchers = list(_watchers)
    for watcher in watchers:
        _tell(watcher, "job_started", job)


def job_ended(job: RunningJob) -> None:
    with _lock:
        _jobs.pop(job.job_id, None)
        watchers = list(_watchers)
    for watcher in watchers:
        _tell(watcher, "job_ended", job)


def _tell(watcher: JobWatcher, what: str, job: RunningJob) -> None:
    try:
        getattr(watcher, what)(job)
    except Exception:
        LOG.warning("%s of %s failed for job %s", what, type(watcher).__name__, job.job_id, exc_info=True)
