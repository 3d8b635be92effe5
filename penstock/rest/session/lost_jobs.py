"""What can be said of a job whose process has gone without a word: what it was, and that it has failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import JobExecutionError
from penstock.rest.triggers import failure_cause
from penstock.runtime.history import now_ms

__all__ = ["lost_job"]


def lost_job(seen: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Answers by path, from what the job said of itself when it started."""
    now = now_ms()
    overview = {**seen["overview"], "state": "FAILED", "end-time": now, "last-modification": now}
    overview["duration"] = now - overview["start-time"]
    details = {
        **seen["details"],
        "state": "FAILED",
        "end-time": now,
        "now": now,
        "duration": overview["duration"],
    }
    details["timestamps"] = {**details["timestamps"], "FAILED": now}
    root = f"/jobs/{overview['jid']}"
    entry = {
        "exceptionName": "JobExecutionError", "stacktrace": reason, "timestamp": now,
        "failureLabels": {"type": "external"}, "taskName": None, "endpoint": None, "taskManagerId": None,
        "concurrentExceptions": [],
    }  # fmt: skip
    result = {
        "id": overview["jid"], "name": overview["name"], "application-status": "FAILED", "accumulator-results": {},
        "net-runtime": overview["duration"], "application-id": overview["jid"],
        "start-time": overview["start-time"], "end-time": now,
        "failure-cause": failure_cause(JobExecutionError(reason)),
    }  # fmt: skip
    return {
        "/jobs/overview": {"jobs": [overview]},
        root: details,
        f"{root}/plan": {"plan": details["plan"]},
        f"{root}/status": {"status": "FAILED"},
        f"{root}/exceptions": {"root-exception": reason, "timestamp": now, "all-exceptions": [], "truncated": False,
                               "exceptionHistory": {"entries": [entry], "truncated": False}},
        f"{root}/execution-result": {"status": {"id": "COMPLETED"}, "job-execution-result": result},
    }  # fmt: skip
