"""Jobs in the session's own process: those of its SQL gateway.

Nobody can start them again, for what they need, tables and functions, is only in that process. So they end with
it. What they tell of themselves lies in the session's folder while they run; what lies there when a session starts
belonged to one that has ended, and is archived as failed, with the checkpoint to go on from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import PenstockError
from penstock.rest.archive import describe_job
from penstock.rest.session.lost_jobs import failed_job
from penstock.rest.session.store import LiveJob, Loss, SessionFolder
from penstock.runtime.history import now_ms
from penstock.runtime.job_registry import unwatch_jobs, watch_jobs
from penstock.runtime.running_job import RunningJob

__all__ = ["OwnJobs", "left_behind"]

LOG = logging.getLogger(__name__)


class OwnJobs:
    """Watches the jobs of this process for a session."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._jobs: dict[str, RunningJob] = {}

    def open(self, end: Callable[[str, Mapping[str, Any]], None]) -> None:
        """Ends jobs of the session before, if there are any; `end` takes what is archived of each."""
        for job_id, live in list(self._folder.own_jobs()):
            live.losses.append(Loss(now_ms(), _reason(job_id, live)))
            end(job_id, failed_job(live))
            self._folder.remove_own(job_id)
        watch_jobs(self)

    def close(self, cancel: bool) -> None:
        """The process is about to end, and its jobs with it; or they are cancelled, in an orderly way."""
        for job in list(self._jobs.values()):
            if cancel:
                job.cancel()
            else:
                LOG.warning("job %s (%s) ends with the session", job.job_id, job.job_name)
        unwatch_jobs(self)

    def job_started(self, job: RunningJob) -> None:
        storage = job.statistics.job.storage
        live = LiveJob(describe_job(job), storage.base if storage.durable else None)
        self._jobs[job.job_id] = job
        self._folder.save_own(job.job_id, live)

    def job_ended(self, job: RunningJob) -> None:
        self._jobs.pop(job.job_id, None)
        self._folder.remove_own(job.job_id)


def left_behind(path: str) -> list[str]:
    """What is to be told of the jobs that ended with a session's process, which has ended: a line each."""
    return [
        f"Job {job_id} ({live.answers[f'/jobs/{job_id}']['name']}) has ended: {_reason(job_id, live)}"
        for job_id, live in SessionFolder(path).own_jobs()
    ]


def _reason(job_id: str, live: LiveJob) -> str:
    ended = "it ran in the session's process, which has ended"
    if live.checkpoints is None:
        return f"{ended}; it has no checkpoint directory, so it begins anew when it is started again"
    path = _newest_checkpoint(CheckpointStorage(live.checkpoints, job_id))
    if path is None:
        return f"{ended}, before its first checkpoint; start it again"
    on = "the same statement with the same execution.checkpointing.dir goes on from its checkpoint"
    return f"{ended}; {on}: {path}"


def _newest_checkpoint(storage: CheckpointStorage) -> str | None:
    try:
        newest = storage.newest_complete()
    except (PenstockError, OSError):
        LOG.warning("the checkpoints of job %s cannot be read", storage.job_id, exc_info=True)
        return storage.root
    return None if newest is None else storage.checkpoint_path(newest.epoch)
