"""Flink 2.3's own `flink` command, unmodified, against our server."""

from __future__ import annotations

import pathlib
import re

import pytest

from penstock.rest.server import JobServer
from tests.rest.jobs import counting_job, wait_for
from tests.servers.flink import FlinkClient


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> FlinkClient:
    return FlinkClient(tmp_path_factory.mktemp("logs"))


def test_flinks_client_lists_saves_stops_and_cancels_jobs(
    flink: FlinkClient, server: JobServer, tmp_path: pathlib.Path
) -> None:
    first, second = counting_job(), counting_job()
    wait_for(lambda: first.statistics.epochs and second.statistics.epochs)
    there = ["-m", f"localhost:{server.port}"]

    listed = flink.run("list", *there)
    assert f"{first.job_id} : test job (RUNNING)" in listed and second.job_id in listed

    saved = flink.run("savepoint", *there, first.job_id, str(tmp_path / "one"))
    path = re.search(r"Savepoint completed. Path: (\S+)", saved)
    assert path is not None and (pathlib.Path(path[1].removeprefix("file:")) / "_metadata").exists()
    assert "disposed" in flink.run("savepoint", *there, "-d", path[1])
    assert not pathlib.Path(path[1].removeprefix("file:")).exists()

    stopped = flink.run("stop", *there, "--savepointPath", str(tmp_path / "two"), first.job_id)
    assert "Savepoint completed. Path:" in stopped
    assert first.status().name == "FINISHED"

    assert "Cancelled job" in flink.run("cancel", *there, second.job_id)
    wait_for(lambda: second.has_ended)
    assert second.status().name == "CANCELED"
    assert f"{first.job_id} : test job (FINISHED)" in flink.run("list", *there, "-a")


def test_flinks_client_shows_why_a_savepoint_failed(flink: FlinkClient, server: JobServer) -> None:
    job = counting_job()
    wait_for(lambda: job.statistics.epochs)
    told = flink.run("savepoint", "-m", f"localhost:{server.port}", job.job_id, "/proc/nowhere", code=1)
    assert "/proc/nowhere" in told
    job.cancel()
