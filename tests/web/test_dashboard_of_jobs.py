"""The dashboard over the job server and jobs that really run, in a real browser."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from penstock.common.configuration import Configuration
from penstock.rest.server import JobServer, make_context
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.running_job import RunningJob, running_job
from penstock.sql.streaming import jobs
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.rest.jobs import counting_job, wait_for
from tests.servers.browser import Browser

FAST = {"rest.port": "0", "web.refresh-interval": "500"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = Browser()
    yield found
    found.close()


@pytest.fixture(scope="module")
def server() -> Iterator[JobServer]:
    opened = JobServer(make_context(Configuration.from_dict(FAST))).start()
    yield opened
    opened.stop()


@pytest.fixture
def running(server: JobServer, tmp_path: pathlib.Path) -> Iterator[RunningJob]:
    folders = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
    }
    job = counting_job(folders)
    wait_for(lambda: job.statistics.epochs >= 3)
    yield job
    job.cancel()


def test_the_graph_of_a_running_job_shows_its_vertices_and_their_subtasks(
    browser: Browser, server: JobServer, running: RunningJob
) -> None:
    browser.open(server.url)
    browser.click("main a", running.job_name)
    browser.wait_for(lambda: browser.count(".vertex") == 2, "two vertices")
    browser.wait_for_text("% busy", ".graph")
    assert "numbers" in browser.text(".graph") and browser.count("path.edge") == 1
    browser.click(".vertex", "count")
    browser.wait_for_text("Records in", ".drawer")
    assert browser.count(".drawer table:first-of-type tbody tr") == 2
    browser.wait_for(lambda: browser.count(".drawer [aria-label=Sample] tbody tr") > 0, "rows of the vertex")
    assert browser.complaints() == []


def test_epochs_checkpoints_and_metrics_of_a_running_job_are_shown(
    browser: Browser, server: JobServer, running: RunningJob
) -> None:
    page = f"{server.url}/#/job/{running.job_id}"
    browser.open(f"{page}/epochs")
    browser.wait_for(lambda: browser.count(".chart .column") >= 3, "epochs")
    browser.open(f"{page}/checkpoints")
    browser.wait_for_text("Completed", "main")
    browser.click("tr.pickable")
    browser.wait_for_text("Path", "main")
    browser.open(f"{page}/metrics")
    browser.wait_for(lambda: browser.count(".chart polyline") > 0, "a chart")
    browser.open(f"{page}/records")
    browser.wait_for_text("Late records dropped", "main")
    browser.open(f"{page}/configuration")
    browser.wait_for_text("Restart strategy", "main")
    assert browser.complaints() == []


def test_a_savepoint_and_a_cancellation_come_from_the_page(
    browser: Browser, server: JobServer, running: RunningJob, tmp_path: pathlib.Path
) -> None:
    browser.open(f"{server.url}/#/job/{running.job_id}")
    browser.click("button", "Savepoint…")
    browser.click("dialog button", "Take savepoint")
    browser.wait_for_text(f"Savepoint: {tmp_path}/savepoints", "#toasts")
    assert list((tmp_path / "savepoints").iterdir())
    browser.click("button", "Cancel…")
    browser.click("dialog button", "Cancel job")
    browser.wait_for_text("canceled", "h1")
    wait_for(lambda: running.has_ended)
    assert browser.complaints() == []


def test_a_failed_job_shows_its_traceback(browser: Browser, server: JobServer) -> None:
    job = counting_job({"restart-strategy.type": "none"}, fails_at=7)
    wait_for(lambda: job.has_ended)
    browser.open(f"{server.url}/#/job/{job.job_id}/exceptions")
    browser.wait_for_text("cannot count 7", "details[open] summary")
    assert "in process_element" in browser.text("details[open] pre")
    assert browser.complaints() == []


def test_a_job_of_sql_shows_its_statement_and_plan(
    browser: Browser, server: JobServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table_env.execute_sql(
        "CREATE TABLE numbers (v BIGINT, w BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100')"
    )
    table_env.execute_sql("CREATE TABLE sums (w BIGINT, s BIGINT) WITH ('connector' = 'blackhole')")
    table_env.execute_sql("INSERT INTO sums SELECT MOD(w, 3), SUM(v) FROM numbers GROUP BY MOD(w, 3)")
    job = running_job("insert-into_default_catalog.default_database.sums")
    assert job is not None
    try:
        browser.open(f"{server.url}/#/job/{job.job_id}/sql")
        browser.wait_for_text("INSERT INTO sums SELECT", "main")
        assert "I,UB,UA,D" in browser.text("main") and "Plan" in browser.text("main")
        inputs, [output] = job.description.datasets("ns") if job.description.datasets else ([], [])
        assert [dataset["name"] for dataset in inputs] == ["default_catalog.default_database.numbers"]
        fields = output["facets"]["columnLineage"]["fields"]["s"]["inputFields"]
        assert [field["field"] for field in fields] == ["v"]
    finally:
        job.cancel()


def test_files_are_asked_for_again_only_when_they_have_changed(server: JobServer) -> None:
    first = httpx.get(f"{server.url}/js/main.js")
    assert first.headers["content-security-policy"].startswith("default-src 'self'")
    again = httpx.get(f"{server.url}/js/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_a_server_with_a_token_shows_the_page_and_asks_for_the_token(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    token = tmp_path / "token"
    token.write_text("a-long-enough-token-for-tests-0123456789")
    token.chmod(0o600)
    settings = Configuration.from_dict({**FAST, "penstock.rest.token-file": str(token)})
    server = JobServer(make_context(settings)).start()
    try:
        assert httpx.get(f"{server.url}/jobs/overview").status_code == 401
        browser.open(server.url)
        browser.wait_for_text("This server wants a token", "main")
        browser.type("input[name=token]", token.read_text())
        browser.click("form button", "Continue")
        browser.wait_for_text("No job is running", "main")
    finally:
        browser.open("about:blank")
        browser.complaints()
        server.stop()


def test_the_history_server_shows_archives_of_jobs_on_the_same_pages(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    archives = str(tmp_path / "archives")
    settings = Configuration.from_dict({**FAST, "jobmanager.archive.fs.dir": archives})
    server = JobServer(make_context(settings)).start()
    try:
        finished = counting_job(last=300)
        failed = counting_job({"restart-strategy.type": "none"}, fails_at=7)
        cancelled = counting_job({"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
        wait_for(lambda: cancelled.statistics.epochs >= 3)
        cancelled.cancel()
        wait_for(lambda: finished.has_ended and failed.has_ended)
    finally:
        server.stop()
    with penstock_history(archives) as url:
        browser.open(url)
        browser.wait_for(lambda: browser.count("table tbody tr") == 3, "three archived jobs")
        said = browser.text("body")
        assert "Job history" in said and "Cluster" not in said and "Running" not in said
        keep_screenshot(browser, "dashboard-history")
        page = f"{url}/#/job/{finished.job_id}"
        browser.click(f"main a[href='#/job/{finished.job_id}']")
        browser.wait_for(lambda: browser.count(".vertex") == 2, "two vertices")
        assert "300" in browser.text(".graph") and "finished" in browser.text("h1")
        assert browser.count(".actions") == 0 and "Metrics" not in browser.text("nav.tabs")
        browser.click(".vertex", "count")
        browser.wait_for_text("Records in", ".drawer")
        assert browser.count(".drawer table:first-of-type tbody tr") == 2
        keep_screenshot(browser, "dashboard-history-job")
        browser.open(f"{page}/epochs")
        browser.wait_for(lambda: browser.count(".chart .column") >= 1, "epochs")
        browser.open(f"{page}/records")
        browser.wait_for_text("Late records dropped", "main")
        assert "–" in browser.text(".cards"), "nobody knows is not none"
        browser.open(f"{url}/#/job/{cancelled.job_id}/checkpoints")
        browser.wait_for_text("Completed", "main")
        browser.click("tr.pickable")
        browser.wait_for_text("Path", "main")
        browser.open(f"{url}/#/job/{failed.job_id}/exceptions")
        browser.wait_for_text("cannot count 7", "details[open] summary")
        assert browser.complaints() == []
        browser.open("about:blank")  # nothing is asked of a server that goes away


@contextlib.contextmanager
def penstock_history(folder: str) -> Iterator[str]:
    """`penstock history` in a process of its own; its address."""
    options = [f"-D{key}={value}" for key, value in FAST.items()]
    call = [sys.executable, "-m", "penstock.cli.main", "history", folder, *options]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "it ended before it said where it is"
            yield found[0]
        finally:
            process.terminate()


def keep_screenshot(browser: Browser, name: str) -> None:
    """Into the folder that PENSTOCK_SCREENSHOTS names, for docs/images; nowhere without it."""
    folder = os.environ.get("PENSTOCK_SCREENSHOTS")
    if folder:
        browser.screenshot(pathlib.Path(folder) / f"{name}.png")
