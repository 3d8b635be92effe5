"""Jobs in a session's own process, which are those of its SQL gateway: they end with it, and that is told."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.rest.session.cluster import read_description
from tests.rest.jobs import wait_for
from tests.rest.test_session import getter, make_session

TABLES = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50')",
    "CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole')",
)


class SqlSession:
    """A session with a gateway in a process of its own."""

    def __init__(self, folder: pathlib.Path) -> None:
        words = [sys.executable, "-m", "tests.rest.session_process", str(folder), "sql"]
        self.process = subprocess.Popen(words)
        threading.Thread(target=self.process.wait, daemon=True).start()  # nobody may see it as a zombie
        self.url = wait_for(lambda: read_description(str(folder)))["url"]

    def get(self, path: str) -> Any:
        return httpx.get(self.url + path, timeout=30).json()

    def run(self, *statements: str, **properties: str) -> str:
        """Runs statements; the id of the last one's job."""
        opened = httpx.post(f"{self.url}/v2/sessions", json={"properties": properties}, timeout=30).json()
        path = f"{self.url}/v2/sessions/{opened['sessionHandle']}"
        result: Any = {}
        for statement in statements:
            operation = httpx.post(f"{path}/statements", json={"statement": statement}, timeout=30).json()
            page = f"{path}/operations/{operation['operationHandle']}/result/0?rowFormat=JSON"
            result = wait_for(
                lambda p=page: (r := httpx.get(p, timeout=30).json()).get("resultType") != "NOT_READY" and r
            )
        return str(result["jobID"])


@pytest.fixture
def sql(tmp_path: pathlib.Path) -> Iterator[SqlSession]:
    made = SqlSession(tmp_path / "session")
    yield made
    made.process.kill()


def insert(sql: SqlSession, checkpoints: pathlib.Path) -> str:
    settings = {"execution.checkpointing.dir": str(checkpoints)}
    job = sql.run(*TABLES, "INSERT INTO hole SELECT n FROM numbers", **settings)
    wait_for(lambda: sql.get(f"/jobs/{job}/checkpoints")["counts"]["completed"] >= 2)
    return job


def stop(folder: pathlib.Path, *words: str) -> str:
    words = ("cluster", "stop", *words, "-D", f"penstock.session.dir={folder}")
    return CliRunner().invoke(app, words, catch_exceptions=False).output


def told_next(folder: pathlib.Path, job: str) -> tuple[str, str | None]:
    """What the next session of the folder says: the job's state, and why."""
    session = make_session(folder)
    try:
        get = getter(session)
        assert (folder / "archives" / job).exists()
        assert {each["id"] for each in get("/jobs")["jobs"]} == {job}
        return get(f"/jobs/{job}")["state"], get(f"/jobs/{job}/exceptions")["root-exception"]
    finally:
        session.close()


def test_an_insert_ends_with_its_session_and_says_where_to_go_on_from(
    sql: SqlSession, tmp_path: pathlib.Path
) -> None:
    job = insert(sql, tmp_path / "chk")
    told = stop(tmp_path / "session")
    state, reason = told_next(tmp_path / "session", job)
    assert state == "FAILED" and reason is not None
    head, _, path = reason.partition("goes on from its checkpoint: ")
    assert "ran in the session's process" in head and (pathlib.Path(path) / "_metadata").exists()
    assert job in told and path in told and "Session ended." in told
    assert told_next(tmp_path / "session", job) == (state, reason), "it is remembered, not lost again"


def test_an_insert_of_a_killed_session_has_failed(sql: SqlSession, tmp_path: pathlib.Path) -> None:
    job = insert(sql, tmp_path / "chk")
    sql.process.send_signal(signal.SIGKILL)
    wait_for(lambda: sql.process.returncode is not None)
    state, reason = told_next(tmp_path / "session", job)
    assert state == "FAILED" and reason is not None and "goes on from its checkpoint: " in reason
    again = SqlSession(tmp_path / "session")
    try:
        assert insert(again, tmp_path / "chk") == job, "the same statement goes on with it"
        restored = again.get(f"/jobs/{job}/checkpoints")["latest"]["restored"]
        assert restored is not None and restored["id"] >= 2
    finally:
        again.process.kill()


def test_an_insert_is_cancelled_with_the_jobs_of_its_session(sql: SqlSession, tmp_path: pathlib.Path) -> None:
    job = insert(sql, tmp_path / "chk")
    assert job not in stop(tmp_path / "session", "--cancel-jobs")
    assert told_next(tmp_path / "session", job) == ("CANCELED", None)


def test_a_query_is_cancelled_when_its_session_ends(sql: SqlSession, tmp_path: pathlib.Path) -> None:
    job = sql.run(*TABLES, "SELECT n FROM numbers")
    assert job not in stop(tmp_path / "session")
    assert told_next(tmp_path / "session", job) == ("CANCELED", None)
