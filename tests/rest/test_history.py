"""Archives of finished jobs, and the server that shows them."""

from __future__ import annotations

import json
import pathlib

import httpx
import pytest

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.rest.archive import list_archives, read_archive
from penstock.rest.history import HistoryServer
from penstock.rest.server import JobServer, make_context
from tests.rest.jobs import counting_job, wait_for

PORT = {"rest.port": "0"}


def test_an_ended_job_is_archived_as_flink_does_it_and_served(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "archives"
    settings = Configuration.from_dict({**PORT, "jobmanager.archive.fs.dir": str(folder)})
    server = JobServer(make_context(settings)).start()
    try:
        job = counting_job(last=200)
        job.wait(60)
        told = httpx.get(f"{server.url}/jobs/{job.job_id}").json()
    finally:
        server.stop()
    assert list_archives(str(folder)) == [job.job_id]
    entries = json.loads((folder / job.job_id).read_text())["archive"]
    assert {"path", "json"} == set(entries[0]) and isinstance(entries[0]["json"], str)
    history = HistoryServer(Configuration.from_dict(PORT), str(folder)).start()
    try:
        get = lambda path: httpx.get(history.url + path).json()  # noqa: E731
        assert get("/config")["features"]["web-history"] is True
        assert get("/jobs/overview")["jobs"][0]["state"] == "FINISHED"
        found = get(f"/jobs/{job.job_id}")
        assert found["vertices"][0]["metrics"]["read-records"] == 200
        assert {**found, "now": 0} == {**told, "now": 0}
        vertex = found["vertices"][1]["id"]
        assert len(get(f"/jobs/{job.job_id}/vertices/{vertex}/subtasktimes")["subtasks"]) == 2
        assert get(f"/jobs/{job.job_id}/checkpoints")["counts"]["completed"] >= 1
        assert httpx.patch(f"{history.url}/jobs/{job.job_id}").status_code == 409
    finally:
        history.stop()


def test_archives_that_come_later_are_shown_and_broken_ones_left_out(tmp_path: pathlib.Path) -> None:
    every = {"historyserver.archive.fs.refresh-interval": "20 ms"}
    history = HistoryServer(Configuration.from_dict({**PORT, **every}), str(tmp_path)).start()
    try:
        (tmp_path / ("a" * 32)).write_text("{not json")
        overview = {"jobs": [{"jid": "b" * 32, "name": "of Flink", "state": "FAILED"}]}
        entries = [{"path": "/jobs/overview", "json": json.dumps(overview)}]
        (tmp_path / ("b" * 32)).write_text(json.dumps({"archive": entries}))
        shown = wait_for(lambda: httpx.get(f"{history.url}/jobs").json()["jobs"])
        assert shown == [{"id": "b" * 32, "status": "FAILED"}]
    finally:
        history.stop()
    with pytest.raises(ValueError, match="Expecting property name"):
        read_archive(str(tmp_path), "a" * 32)


def test_a_history_server_needs_a_folder() -> None:
    with pytest.raises(ValidationError, match="no folder with archives"):
        HistoryServer(Configuration())
