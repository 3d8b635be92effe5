"""Many jobs behind one server leave nothing behind."""

from __future__ import annotations

import os
import threading

import httpx

from penstock.common.configuration import Configuration
from penstock.rest.server import JobServer, make_context
from tests.rest.jobs import counting_job, wait_for

JOBS = 12


def test_jobs_that_are_cancelled_leave_no_threads_and_no_files_open() -> None:
    server = JobServer(make_context(Configuration.from_dict({"rest.port": "0"}))).start()
    try:
        with httpx.Client(base_url=server.url, timeout=120) as client:
            client.get("/jobs")
            threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
            jobs = [counting_job() for _ in range(JOBS)]
            wait_for(lambda: all(job.statistics.epochs for job in jobs))
            assert client.get("/overview").json()["jobs-running"] == JOBS
            for job in jobs:
                assert client.patch(f"/jobs/{job.job_id}").status_code == 202
            wait_for(lambda: client.get("/overview").json()["jobs-cancelled"] == JOBS)
            wait_for(lambda: threading.active_count() <= threads + 2)
            wait_for(lambda: len(os.listdir("/proc/self/fd")) <= files + 4)
    finally:
        server.stop()
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "penstock-rest"])
