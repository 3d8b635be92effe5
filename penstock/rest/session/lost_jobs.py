"""What can be said of a job whose process has gone without a word: what it was, and what becomes of it.

It is restarting until another process goes on with it, and has failed if none does.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import ExternalSystemError, JobExecutionError, PenstockError
from penstock.common.job_status import JobStatus
from penstock.rest.ports import EndedJob
from penstock.rest.session.store import LiveJob, Loss
from penstock.rest.triggers import failure_cause
from penstock.rest.views import jobs as views
from penstock.rest.views.vertices import STATE_OF_TASKS
from penstock.runtime.history import ExceptionRecord, Lifecycle, now_ms
from penstock.runtime.identity import note_end

__all__ = ["RestartingJob", "failed_job", "failure_of", "note_failure"]

LOG = logging.getLogger(__name__)


class RestartingJob(EndedJob):
    """A job between two processes: it answers from memory, as one that has ended does, and goes on later.

    Args:
        cancel: Called by whoever wants it cancelled, when it runs again.
    """

    def __init__(self, job_id: str, live: LiveJob, cancel: Callable[[], None]) -> None:
        super().__init__(job_id, {})
        self._cancel = cancel
        self._live = live
        self._state = "RESTARTING"
        self.over = threading.Event()
        """Set when it runs again, or will not do so any more."""
        self.refresh()

    def refresh(self) -> None:
        """Something has happened to it; what it answers is told anew."""
        self.answers = _told(self._live, self._state)

    def ended_as(self) -> str | None:
        return None

    def cancel(self) -> None:
        self._state = "CANCELLING"
        self.refresh()
        self.over.wait()
        self._cancel()

    def _why_not(self) -> str:
        return "it is being restarted"

    def _refused(self) -> PenstockError:
        return ExternalSystemError(
            f"job {self.job_id} is being restarted", where=f"job {self.job_id}", do="try again when it runs"
        )


def failed_job(live: LiveJob) -> dict[str, Any]:
    """What is archived of a job that nobody goes on with: answers by path."""
    answers = _told(live, "FAILED")
    (overview,) = answers["/jobs/overview"]["jobs"]
    job_id = overview["jid"]
    result = {
        "id": job_id, "name": overview["name"], "application-status": "FAILED", "accumulator-results": {},
        "net-runtime": overview["duration"], "application-id": job_id,
        "start-time": overview["start-time"], "end-time": overview["end-time"],
        "failure-cause": failure_cause(JobExecutionError(live.losses[-1].reason)),
    }  # fmt: skip
    done = {"status": {"id": "COMPLETED"}, "job-execution-result": result}
    return {**answers, f"/jobs/{job_id}/execution-result": done}


def note_failure(job_id: str, live: LiveJob) -> None:
    """The job's checkpoints stay, for whoever names them, but no run of its program takes them for its own."""
    if live.checkpoints is not None:
        try:
            note_end(CheckpointStorage(live.checkpoints, job_id), JobStatus.FAILED)
        except Exception:
            LOG.warning("the end of job %s could not be noted in %s", job_id, live.checkpoints, exc_info=True)


def failure_of(loss: Loss) -> ExceptionRecord:
    """The loss as one of a job's failures."""
    return ExceptionRecord(
        loss.timestamp_ms, "JobExecutionError", loss.reason, None, {"type": "external"}, fatal=True
    )


def _told(live: LiveJob, state: str) -> dict[str, Any]:
    """Answers by path, from what the job said of itself when it started."""
    (seen,) = live.answers["/jobs/overview"]["jobs"]
    root = f"/jobs/{seen['jid']}"
    now = now_ms()
    life = {
        "state": state,
        "end-time": now if state in Lifecycle.ENDS else -1,
        "duration": now - seen["start-time"],
    }
    failures = [failure_of(loss) for loss in reversed(live.losses)]
    overview = {**seen, **life, "last-modification": now, "tasks": _all_in(seen["tasks"], state)}
    return {
        **live.answers,
        "/jobs/overview": {"jobs": [overview]},
        root: {**_details(live.answers[root], state, now), **life},
        f"{root}/status": {"status": state},
        f"{root}/exceptions": views.failures(failures, truncated=False),
        f"{root}/execution-result": {"status": {"id": "IN_PROGRESS"}},
    }


def _details(seen: dict[str, Any], state: str, now: int) -> dict[str, Any]:
    tasks = STATE_OF_TASKS[state]
    vertices = [
        {**vertex, "status": tasks, "tasks": _all_in(vertex["tasks"], state)} for vertex in seen["vertices"]
    ]
    return {
        **seen,
        "now": now,
        "timestamps": {**seen["timestamps"], state: now},
        "vertices": vertices,
        "status-counts": _all_in(seen["status-counts"], state),
    }


def _all_in(counts: dict[str, int], state: str) -> dict[str, int]:
    """Numbers of tasks by their states: all of them in the one that belongs to this state of their job.

    >>> _all_in({"RUNNING": 2, "SCHEDULED": 0}, "RESTARTING")
    {'RUNNING': 0, 'SCHEDULED': 2}
    >>> _all_in({"running": 3, "total": 3, "failed": 0}, "FAILED")
    {'running': 0, 'total': 3, 'failed': 3}
    """
    count = sum(each for name, each in counts.items() if name != "total")
    return {
        name: count if name in ("total", STATE_OF_TASKS[state], STATE_OF_TASKS[state].lower()) else 0
        for name in counts
    }
