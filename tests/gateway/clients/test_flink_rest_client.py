"""flink-rest-client, from its package and unmodified, against a session: everything it offers is called."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.configuration import Configuration
from penstock.rest.session.cluster import Session
from penstock.rest.session.spark import start_spark
from tests.rest.programs import ENDLESS
from tests.servers.flink import install
from tests.servers.packages import cache_folder

pytestmark = pytest.mark.spark
WALK = pathlib.Path(__file__).with_name("walk_of_flink_rest_client.py")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the client got. The session has a Spark application, so that there are executors to ask about."""
    python = install(cache_folder() / "flink-rest-client", "flink-rest-client==1.0.8")
    folder = tmp_path_factory.mktemp("session")
    program = folder / "program.py"
    program.write_text(ENDLESS)
    settings = {
        "rest.port": "0",
        "web.submit.enable": "true",
        "web.checkpoints.history": "10000",  # none is forgotten between two calls
    }
    session = Session(Configuration.from_dict(settings), str(folder / "session"), start_spark).start()
    try:
        assert session.server is not None
        call = [str(python), str(WALK), str(session.server.port), str(program), str(folder / "savepoints")]
        done = subprocess.run(call, capture_output=True, text=True, timeout=550, env={})
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert session._over.wait(60), "deleting the cluster ends the session"
    finally:
        session.end(cancel_jobs=True)
        session.close()
    yield json.loads(done.stdout)


def test_the_server_and_its_executors_are_told(found: dict[str, Any]) -> None:
    server, executors = found["server"], found["executors"]
    assert server["overview"]["jobs-running"] == 1 and server["overview"]["taskmanagers"] == 1
    assert server["config"]["features"]["web-submit"] is True and server["datasets"] == []
    settings, metrics, log = server["jobmanager"]
    assert settings["web.submit.enable"] == "true" and metrics["numRunningJobs"] == "1"
    assert "arguments ['--name', 'one']" in log
    assert executors["one"]["slotsNumber"] >= 1 and executors["threads"] > 1
    assert set(executors["metrics"]) == set(executors["aggregated"])
    assert set(executors["aggregated"]["Status.Spark.Tasks.Active"]) == {"min", "max", "sum", "avg"}


def test_a_job_is_told_down_to_its_subtasks(found: dict[str, Any]) -> None:
    job, vertex, first = found["job"], found["vertex"], found["ids"][0]
    assert job["all"] == [{"id": first, "status": "RUNNING"}]
    assert job["overview"][0]["name"] == job["details"]["name"] == "endless --nameone"
    assert job["plan"]["jid"] == first and len(job["plan"]["nodes"]) == len(found["plan"]["nodes"]) == 2
    assert job["result"]["status"]["id"] == "IN_PROGRESS" and job["exceptions"]["root-exception"] is None
    assert float(job["metrics"]["uptime"]) > 0 and set(job["aggregated"]["uptime"]) == {"min", "max"}
    assert job["checkpointing"]["mode"] == "exactly_once"
    assert set(job["checkpoint"]["subtasks"]) == set(job["checkpoint"]["tasks"])
    assert vertex["subtasks"] == [0, 1] and vertex["details"]["parallelism"] == 2
    assert vertex["subtask"]["subtask"] == vertex["attempt"]["subtask"] == 0
    assert vertex["aggregated"]["numRecordsIn"]["sum"] > 0 and "numRecordsIn" in str(vertex["metrics"])
    assert vertex["backpressure"]["status"] == "ok" and vertex["taskmanagers"]["taskmanagers"]


def test_jobs_are_saved_stopped_restored_and_cancelled(found: dict[str, Any]) -> None:
    first, second = found["ids"]
    assert "location" in found["savepoint"] and "/proc/nowhere" in str(
        found["failed savepoint"]["failure-cause"]
    )
    assert found["restored"]["latest"]["restored"]["external_path"] == found["stopped"]["location"]
    assert found["terminated"] is True
    assert found["states"] == {first: "FINISHED", second: "CANCELED"}


def test_programs_are_deleted_and_what_is_not_there_is_refused(found: dict[str, Any]) -> None:
    assert found["deleted"] is True and len(found["jars"]["files"]) == 1  # the second upload is still there
    no_job, no_jar = found["refused"]
    assert no_job == f"REST response error (404): Job {'0' * 32} not found"
    assert "REST response error (404)" in no_jar and "does not exist" in no_jar
    assert found["cluster"] == {}
