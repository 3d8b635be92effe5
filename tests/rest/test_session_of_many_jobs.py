"""A session runs many jobs, lists them, cancels them, and is then as it was.

    PENSTOCK_SESSION_JOBS=50 pytest -s tests/rest/test_session_of_many_jobs.py

runs as many as are said, without Spark and then on it, and prints what the session held before, meanwhile and after.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from penstock.rest.session.cluster import read_description
from tests.rest.jobs import wait_for
from tests.rest.processes import Held, held_by, programs_of
from tests.rest.programs import ENDLESS, on_spark

GIVEN = os.environ.get("PENSTOCK_SESSION_JOBS")
JOBS = int(GIVEN or 6)
AT_A_TIME = 4
LONGEST_S = 3000

MANY = pytest.param(
    "spark", marks=[pytest.mark.spark, pytest.mark.skipif(GIVEN is None, reason="takes long")]
)


@pytest.fixture(params=["", MANY])
def session(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path
) -> Iterator[tuple[httpx.Client, int, str]]:
    """A client, the session's process, and a program for it."""
    folder = str(tmp_path / "session")
    with open(tmp_path / "log", "wb") as log:
        call = [sys.executable, "-m", "tests.rest.session_process", folder, request.param]
        process = subprocess.Popen(call, stdout=log, stderr=subprocess.STDOUT)
    try:
        known = wait_for(lambda: read_description(folder) or process.poll() is not None)
        assert known is not True, (tmp_path / "log").read_text()
        with httpx.Client(base_url=known["url"], timeout=600) as client:
            yield client, process.pid, on_spark(ENDLESS) if request.param else ENDLESS
            client.delete("/cluster")
            process.wait(120)
    finally:
        process.kill()
        process.wait()


@pytest.mark.timeout(2 * LONGEST_S)
def test_many_jobs_run_are_listed_are_cancelled_and_leave_nothing(
    session: tuple[httpx.Client, int, str],
) -> None:
    client, pid, program = session
    stored = client.post("/jars/upload", files={"jarfile": ("count.py", program.encode())}).json()
    jar = pathlib.Path(stored["filename"]).name

    def launch(number: int) -> str:
        answer = client.post(f"/jars/{jar}/run", json={"programArgsList": [str(number)]})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["jobid"])

    def states(state: str) -> set[str]:
        return {job["id"] for job in client.get("/jobs").json()["jobs"] if job["status"] == state}

    def cancel(jobs: list[str]) -> None:
        for job in jobs:
            assert client.patch(f"/jobs/{job}").status_code == 202
        wait_for(lambda: set(jobs) <= states("CANCELED"), LONGEST_S)

    def progress(job: str) -> int:
        return int(client.get(f"/jobs/{job}/checkpoints").json()["counts"]["completed"])

    cancel([launch(-1)])  # what is only made once has been made then
    wait_for(lambda: programs_of(pid) == 0)
    before = settled(client, pid)
    began = time.monotonic()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        jobs = list(pool.map(launch, range(JOBS)))
    started_s = time.monotonic() - began
    assert len(set(jobs)) == JOBS and states("RUNNING") == set(jobs)
    for job in jobs:
        seen = progress(job)
        wait_for(lambda j=job, s=seen: progress(j) >= s + 2, LONGEST_S)  # every single one goes on
    listed = client.get("/jobs/overview").json()["jobs"]
    assert {job["name"] for job in listed if job["state"] == "RUNNING"} == {
        f"endless {n}" for n in range(JOBS)
    }
    meanwhile = held_by(pid)
    assert programs_of(pid) == JOBS
    began = time.monotonic()
    cancel(jobs)
    cancelled_s = time.monotonic() - began
    # The JVM starts and ends threads as it likes, and opens jars when it needs them; a leak is one for every job.
    slack = 0 if program is ENDLESS else JOBS // 2
    wait_for(lambda: programs_of(pid) == 0)
    try:
        wait_for(lambda: client.get("/overview").json() and not held_by(pid).exceeds(before, slack), 120)
    except AssertionError:
        pass  # what is left is told below
    after = held_by(pid)
    print(
        f"\n{JOBS} jobs: started in {started_s:.1f} s, cancelled in {cancelled_s:.1f} s\n"
        f"before {before}\nmeanwhile {meanwhile}\nafter {after}"
    )
    assert after.exceeds(before, slack) == []


def settled(client: httpx.Client, pid: int) -> Held:
    """What the session holds once that has been the same for a while; it is asked something meanwhile, as later."""
    last, same = held_by(pid), 0
    while same < 10:
        client.get("/overview")
        time.sleep(0.2)
        now = held_by(pid)
        same = same + 1 if not now.exceeds(last) and not last.exceeds(now) else 0
        last = now
    return last
