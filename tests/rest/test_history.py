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
from penstock.rest.server import JobServer, make_context, open_port
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


def test_every_checkpoint_that_is_named_has_details_while_the_job_runs_and_after(
    tmp_path: pathlib.Path,
) -> None:
    server = JobServer(make_context(Configuration.from_dict(PORT))).start()
    try:
        settings = {
            "web.checkpoints.history": "3",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        }
        first = counting_job(settings)
        wait_for(lambda: first.statistics.epochs >= 2)
        start = first.stop_with_savepoint(directory=str(tmp_path / "savepoints"))
        job = counting_job({**settings, "execution.state-recovery.path": start})
        root = f"{server.url}/jobs/{job.job_id}/checkpoints"
        wait_for(lambda: job.statistics.epochs >= 2)
        job.trigger_savepoint(str(tmp_path / "savepoints"))
        saved = job.statistics.epochs
        wait_for(lambda: job.statistics.epochs >= saved + 5)
        latest = httpx.get(root).json()["latest"]
        for kind in ("savepoint", "restored"):
            details = httpx.get(f"{root}/details/{latest[kind]['id']}")
            assert details.status_code == 200 and details.json()["is_savepoint"], details.text
        job.cancel()
        wait_for(lambda: job.has_ended)
        found = httpx.get(root).json()
        assert found["latest"]["savepoint"]["id"] < found["history"][-1]["id"]
        named = [*found["history"], *(each for each in found["latest"].values() if each)]
        for number in {each["id"] for each in named}:
            details = httpx.get(f"{root}/details/{number}")
            assert details.status_code == 200, details.text
            for vertex in details.json()["tasks"]:
                assert httpx.get(f"{root}/details/{number}/subtasks/{vertex}").status_code == 200
    finally:
        server.stop()


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


def test_a_folder_that_is_not_there_is_refused_if_it_was_asked_for_and_told_if_it_was_configured(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(ValidationError, match="there is no folder") as refused:
        HistoryServer(Configuration.from_dict(PORT), missing)
    assert missing in str(refused.value)
    later = {**PORT, "jobmanager.archive.fs.dir": f"{missing},{tmp_path}"}  # made when the first job ends
    HistoryServer(Configuration.from_dict(later)).start().stop()
    assert caplog.messages == [
        f"there is no archive of a job in {folder} yet; it is looked through every 10 s"
        for folder in (missing, tmp_path)
    ]


@pytest.mark.parametrize("key", ["historyserver.web.address", "rest.bind-address"])
def test_an_address_that_others_reach_is_refused_under_the_key_that_was_written(
    key: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(ValidationError) as refused:
        HistoryServer(Configuration.from_dict({**PORT, key: "0.0.0.0"}), str(tmp_path)).start()
    assert refused.value.where == key and str(refused.value.do).endswith(f"or leave {key} out")


def test_a_port_that_is_taken_is_refused_under_the_key_of_the_history_server(tmp_path: pathlib.Path) -> None:
    with open_port("127.0.0.1", [0]) as taken:
        settings = {"historyserver.web.port": str(taken.getsockname()[1])}
        with pytest.raises(ValidationError, match="cannot listen") as refused:
            HistoryServer(Configuration.from_dict(settings), str(tmp_path)).start()
    assert refused.value.where == "rest.bind-address, historyserver.web.port, rest.bind-port"


def test_a_history_server_needs_a_folder() -> None:
    with pytest.raises(ValidationError, match="no folder with archives"):
        HistoryServer(Configuration())
