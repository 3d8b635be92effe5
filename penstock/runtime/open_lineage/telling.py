"""Watches jobs and sends their events, from a thread per job, so that no job waits for a server of lineage."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any

from penstock.common.config_values import parse_value
from penstock.common.job_status import JobStatus
from penstock.runtime.history import now_ms
from penstock.runtime.open_lineage.events import run_event, run_id
from penstock.runtime.open_lineage.transport import Transport, make_transport
from penstock.runtime.running_job import RunningJob

__all__ = ["LineageTelling", "lineage_telling"]

LOG = logging.getLogger(__name__)
_ENDS = {JobStatus.FINISHED: "COMPLETE", JobStatus.CANCELED: "ABORT", JobStatus.FAILED: "FAIL"}
_LAST_EVENT_S = 2.0
_INTERVAL = "openlineage.trackingIntervalInSeconds"


class LineageTelling:
    """Told of every job of the process; those that configure a transport get a teller."""

    def __init__(self) -> None:
        self._tellers: dict[str, _Teller] = {}

    def check(self, settings: Mapping[str, str]) -> None:
        """Refuses a transport that cannot be right, before a job starts."""
        make_transport(settings)

    def job_started(self, job: RunningJob) -> None:
        transport = make_transport(job.statistics.job.configuration)
        if transport is not None:
            self._tellers[job.job_id] = _Teller(job, transport)

    def job_ended(self, job: RunningJob) -> None:
        teller = self._tellers.pop(job.job_id, None)
        if teller is not None:
            teller.end()


class _Teller:
    """START at once, RUNNING every interval, and how it ended."""

    def __init__(self, job: RunningJob, transport: Transport) -> None:
        self._job = job
        self._transport = transport
        settings = job.statistics.job.configuration
        self._namespace = settings.get("openlineage.namespace", "penstock")
        self._every_s = max(1, parse_value(_INTERVAL, settings.get(_INTERVAL, "60"), "Integer"))
        self._run = run_id(job.job_id, now_ms())
        self._ended = threading.Event()
        self._complained = False
        name = f"penstock-lineage-{job.job_id[:8]}"
        self._thread = threading.Thread(target=self._tell, name=name, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(_LAST_EVENT_S)

    def _tell(self) -> None:
        self._send("START")
        while not self._ended.wait(self._every_s):
            self._send("RUNNING")
        self._send(_ENDS.get(self._job.status(), "OTHER"))

    def _send(self, kind: str) -> None:
        try:
            self._transport(self._event(kind))
            self._complained = False
        except Exception as error:
            if not self._complained:
                LOG.warning("[job %s] lineage cannot be told: %s", self._job.job_id, error)
            self._complained = True

    def _event(self, kind: str) -> dict[str, Any]:
        job, stats = self._job, self._job.statistics
        numbers = {"epochs": stats.epochs, "recordsRead": stats.records_read, "restarts": stats.restarts}
        error = job.error if kind == "FAIL" else None
        return run_event(
            kind, self._run, stats.job, job.description, self._namespace,
            now_ms=now_ms(), error=error, numbers=numbers,
        )  # fmt: skip


lineage_telling = LineageTelling()
