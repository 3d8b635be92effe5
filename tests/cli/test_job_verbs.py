"""Flink's verbs on the command line, against a server over a job that runs."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.cli.rest_client import RestClient
from penstock.common.configuration import Configuration
from penstock.common.errors import ExternalSystemError
from penstock.rest.server import JobServer, make_context
from penstock.runtime.running_job import RunningJob
from tests.rest.jobs import counting_job, wait_for


@pytest.fixture(scope="module")
def server() -> Iterator[JobServer]:
    opened = JobServer(make_context(Configuration.from_dict({"rest.port": "0"}))).start()
    yield opened
    opened.stop()


@pytest.fixture
def job(server: JobServer) -> Iterator[RunningJob]:
    made = counting_job()
    wait_for(lambda: made.statistics.epochs)
    yield made
    if not made.has_ended:
        made.cancel()


def run(server: JobServer, *words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "-m", f"localhost:{server.port}"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_jobs_are_listed(server: JobServer, job: RunningJob) -> None:
    assert job.job_id in run(server, "list") and "RUNNING" in run(server, "list", "-r")
    assert "No running jobs" in run(server, "list", "-s")
    assert job.job_id in [each["jid"] for each in json.loads(run(server, "list", "--json"))]


def test_a_job_is_described(server: JobServer, job: RunningJob) -> None:
    text = run(server, "info", job.job_id)
    assert "test job" in text and "Source: numbers" in text and "checkpoints completed" in text
    assert json.loads(run(server, "info", job.job_id, "--json"))["job"]["state"] == "RUNNING"


def test_names_with_brackets_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    job = {
        "jid": "a" * 32,
        "name": "etl [/prod] [bold]v2",
        "state": "RUNNING",
        "start-time": 0,
        "duration": 1,
    }
    scan = "TableSourceScan(table=[[default_catalog, default_database, orders]], fields=[id])" * 2
    vertex = {"name": scan, "parallelism": 1, "status": "RUNNING"}
    vertex["metrics"] = {"read-records": 0, "write-records": 7}
    answers = {
        "/jobs/overview": {"jobs": [job]},
        f"/jobs/{job['jid']}": {**job, "vertices": [vertex]},
        f"/jobs/{job['jid']}/checkpoints": {
            "counts": {"completed": 0, "failed": 0},
            "latest": {"completed": None},
        },
    }
    monkeypatch.setattr(RestClient, "get", lambda self, path: answers[path])
    shown = CliRunner().invoke(app, ["list"], catch_exceptions=False)
    assert job["name"] in shown.output
    shown = CliRunner().invoke(app, ["info", str(job["jid"])], catch_exceptions=False)
    assert job["name"] in shown.output and scan in shown.output


def test_a_savepoint_is_taken_and_disposed_of(
    server: JobServer, job: RunningJob, tmp_path: pathlib.Path
) -> None:
    path = json.loads(run(server, "savepoint", job.job_id, str(tmp_path), "--json"))["location"]
    assert pathlib.Path(path).is_dir()
    assert "disposed" in run(server, "savepoint", "-d", path)
    assert not pathlib.Path(path).exists()


def test_a_checkpoint_is_taken(server: JobServer, job: RunningJob) -> None:
    assert "completed" in run(server, "checkpoint", job.job_id)


def test_a_job_is_stopped_with_a_savepoint(
    server: JobServer, job: RunningJob, tmp_path: pathlib.Path
) -> None:
    assert str(tmp_path) in run(server, "stop", "-p", str(tmp_path), job.job_id)
    assert job.status().name == "FINISHED"
    assert job.job_id in run(server, "list", "-a") and job.job_id not in run(server, "list")


def test_a_job_is_cancelled(server: JobServer, job: RunningJob) -> None:
    assert "Cancelled job" in run(server, "cancel", job.job_id)
    wait_for(lambda: job.has_ended)
    with pytest.raises(ExternalSystemError, match="is not running: it is CANCELED"):
        run(server, "savepoint", job.job_id, "/tmp")


def test_a_cancelled_job_is_told_to_scripts(
    server: JobServer, job: RunningJob, tmp_path: pathlib.Path
) -> None:
    told = json.loads(run(server, "cancel", "-s", str(tmp_path), job.job_id, "--json"))
    assert told["jobid"] == job.job_id and pathlib.Path(told["location"]).is_dir()
    other = counting_job()
    assert json.loads(run(server, "cancel", other.job_id, "--json")) == {"jobid": other.job_id}
    wait_for(lambda: other.has_ended)


def test_a_token_comes_from_the_variable_or_the_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_REST_TOKEN", raising=False)
    file = tmp_path / "token"
    file.write_text("0123456789abcdef0123\n")
    file.chmod(0o600)
    of_file = f"penstock.rest.token-file={file}"
    settings = {"rest.port": "0", "penstock.rest.token-file": str(file)}
    server = JobServer(make_context(Configuration.from_dict(settings))).start()
    try:
        with pytest.raises(ExternalSystemError, match="token is needed") as refused:
            run(server, "list")
        assert refused.value.do == (
            "set the variable PENSTOCK_REST_TOKEN to the token, or give its file: "
            "-D penstock.rest.token-file=PATH"
        )
        assert run(server, "list", "-D", of_file)
        monkeypatch.setenv("PENSTOCK_REST_TOKEN", "0123456789abcdef0123")
        assert run(server, "list")
        monkeypatch.setenv("PENSTOCK_REST_TOKEN", "of another server")
        assert run(server, "list", "-D", of_file)
    finally:
        server.stop()


def test_what_went_wrong_is_told(server: JobServer, job: RunningJob) -> None:
    with pytest.raises(ExternalSystemError, match="must be provided"):
        run(server, "stop", job.job_id)
    with pytest.raises(ExternalSystemError, match="not found"):
        run(server, "cancel", "0" * 32)
    with pytest.raises(ExternalSystemError, match=r"no server answers at http://localhost:1\b"):
        CliRunner().invoke(app, ["list", "-m", "localhost:1"], catch_exceptions=False)


def test_the_configuration_is_shown_with_its_origins(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text(
        "parallelism:\n  default: 3\nrest.port: 9000\ns3:\n  secret-key: hidden\nwebb.port: 1\n"
    )
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("FLINK_CONFIG_REST_PORT", "9001")
    monkeypatch.setenv("PENSTOCK_PROPERTIES", "rest.port: 9002\npipeline.name: n")
    done = CliRunner().invoke(app, ["config", "--json", "-D", "pipeline.name=mine"], catch_exceptions=False)
    found = {each["key"]: each for each in json.loads(done.stdout)}
    assert found["parallelism.default"]["value"] == "3"
    assert found["parallelism.default"]["origin"].endswith("config.yaml")
    assert found["rest.port"]["value"] == "9001" and found["rest.port"]["origin"] == "FLINK_CONFIG_REST_PORT"
    assert found["pipeline.name"] == {
        "key": "pipeline.name",
        "value": "mine",
        "origin": "command line",
        "known": True,
    }
    assert found["s3.secret-key"]["value"] == "******"
