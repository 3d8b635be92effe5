"""All jobs that a server knows: those that run, and the last ones that have ended, as archives.

It watches the jobs of its process. When one ends, everything that can be read of it is written down (`archive.py`)
and the job itself let go, so that a server that has seen thousands of jobs holds the last few as plain data.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.rest.messages import not_found
from penstock.rest.ports import EndedJob, JobPort, LocalJob, ReadJob
from penstock.runtime.job_registry import unwatch_jobs, watch_jobs
from penstock.runtime.running_job import RunningJob

__all__ = ["JobDirectory"]

LOG = logging.getLogger(__name__)
ArchiveJob = Callable[[RunningJob], Mapping[str, Any]]
OnEnd = Callable[[str, Mapping[str, Any]], None]


class JobDirectory:
    """Jobs by id.

    Args:
        read: Answers a request about a job of this process.
        archive: What is kept of a job when it ends: answers by path.
        kept: So many ended jobs are remembered.
        on_end: Called with the id and the archive of each job that ends.
    """

    def __init__(self, read: ReadJob, archive: ArchiveJob, kept: int, on_end: OnEnd | None = None) -> None:
        self._read = read
        self._archive = archive
        self._kept = max(1, kept)
        self._on_end = on_end
        self._lock = threading.Lock()
        self._running: dict[str, JobPort] = {}
        self._ended: dict[str, EndedJob] = {}
        self.version = 0
        """Another number after each change that must be seen at once: answers from before are old."""

    def open(self) -> None:
        watch_jobs(self)

    def close(self) -> None:
        unwatch_jobs(self)

    def changed(self) -> None:
        """Something has been done to a job."""
        with self._lock:
            self.version += 1

    def job_started(self, job: RunningJob) -> None:
        self.add(LocalJob(job, self._read))

    def job_ended(self, job: RunningJob) -> None:
        self.end(job.job_id, self._archive(job))

    def add(self, port: JobPort) -> None:
        """A job runs; what is remembered of an earlier run under the same id gives way."""
        with self._lock:
            self._running[port.job_id] = port
            self._ended.pop(port.job_id, None)
            self.version += 1

    def end(self, job_id: str, answers: Mapping[str, Any]) -> None:
        """A job has ended and this is left of it."""
        if self._on_end is not None:
            self._on_end(job_id, answers)
        with self._lock:
            self._ended[job_id] = EndedJob(job_id, answers)
            self._running.pop(job_id, None)
            self.version += 1
            while len(self._ended) > self._kept:
                del self._ended[next(iter(self._ended))]

    def remember(self, job_id: str, answers: Mapping[str, Any]) -> None:
        """A job that ended before this server started."""
        with self._lock:
            if job_id not in self._running:
                self._ended[job_id] = EndedJob(job_id, answers)
                self.version += 1

    def forget_ended(self, job_id: str) -> None:
        """Nobody wants to know of it any more."""
        with self._lock:
            self._ended.pop(job_id, None)
            self.version += 1

    def find(self, job_id: str) -> JobPort:
        """
        Raises:
            RestError: There is no such job.
        """
        with self._lock:
            port = self._running.get(job_id) or self._ended.get(job_id)
        if port is None:
            raise not_found(f"Job {job_id} not found")
        return port

    def all(self) -> list[JobPort]:
        """Running ones first."""
        with self._lock:
            return [*self._running.values(), *reversed(self._ended.values())]

    def running(self) -> list[JobPort]:
        with self._lock:
            return list(self._running.values())

    def overviews(self, running_only: bool = False) -> list[dict[str, Any]]:
        """All jobs are asked before one answer is waited for; a job whose process went away just now is left out."""
        ports = self.running() if running_only else self.all()
        found = []
        for port, answer in [(port, port.overview_later()) for port in ports]:
            try:
                found.append(answer())
            except Exception:
                LOG.debug("job %s does not answer", port.job_id, exc_info=True)
        return found
