"""Flink's REST interface over a job that really runs."""

from __future__ import annotations

import asyncio
import pathlib
import socket
import threading
import uuid
from typing import Any

import httpx
import pytest

from penstock.rest.handlers import executors as handlers
from penstock.rest.handlers.slots import free_slots
from penstock.rest.server import JobServer, open_port
from penstock.runtime.running_job import RunningJob
from penstock.runtime.spark.executors import Executor
from tests.rest.jobs import counting_job, wait_for


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    return answer.json()


def test_the_overview_counts_jobs(client: httpx.Client, running: RunningJob) -> None:
    found = get(client, "/overview")
    assert found["jobs-running"] >= 1 and found["flink-version"] == "2.3.0"
    assert get(client, "/v1/overview").keys() == found.keys()


def test_a_job_holds_as_many_slots_as_its_widest_vertex_has_subtasks(
    client: httpx.Client, running: RunningJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job for job in get(client, "/jobs/overview")["jobs"] if job["state"] == "RUNNING"]
    held = {job["jid"]: job["slots"] for job in jobs}  # those of other tests, too, if they have left any
    assert held[running.job_id] == 2
    cores = sum(held.values())
    between_two_epochs = [Executor(name, "host", 1, cores, 0, 0, 0, 0, {}) for name in ("0", "1")]
    monkeypatch.setattr(handlers, "_known", (0.0, []))
    monkeypatch.setattr(handlers, "executors", lambda: between_two_epochs)
    # An answer is kept for a moment, and there may be a Spark in this process.
    found = wait_for(lambda: (o := get(client, "/overview"))["slots-total"] == 2 * cores and o)
    assert found["slots-available"] == cores
    free = [each["freeSlots"] for each in get(client, "/taskmanagers")["taskmanagers"]]
    assert sum(free) == cores and max(free) - min(free) <= 1
    metrics = get(client, "/jobmanager/metrics", get="taskSlotsAvailable")
    assert metrics == [{"id": "taskSlotsAvailable", "value": str(cores)}]


def test_nothing_is_free_where_jobs_hold_more_than_there_is() -> None:
    executors = [Executor("0", "host", 1, 3, 0, 0, 0, 0, {})]
    jobs = [{"state": "RUNNING", "slots": 2}, {"state": "RESTARTING", "slots": 2}]
    assert free_slots(executors, jobs) == {"0": 0}
    assert free_slots(executors, [{"state": "FINISHED", "slots": 2}]) == {"0": 3}


def test_running_jobs_are_listed_with_their_state(client: httpx.Client, running: RunningJob) -> None:
    assert {"id": running.job_id, "status": "RUNNING"} in get(client, "/jobs")["jobs"]
    (listed,) = [j for j in get(client, "/jobs/overview")["jobs"] if j["jid"] == running.job_id]
    assert listed["name"] == "test job" and listed["end-time"] == -1
    assert listed["tasks"]["running"] == listed["tasks"]["total"] == 3


def test_the_details_of_a_job_have_its_vertices_as_chains(client: httpx.Client, running: RunningJob) -> None:
    found = get(client, f"/jobs/{running.job_id}")
    source, count = found["vertices"]
    assert source["name"] == "Source: numbers" and source["parallelism"] == 1
    assert count["name"] == "count -> as it is" and count["parallelism"] == 2
    assert len(count["id"]) == 32 and count["status"] == "RUNNING"
    assert source["metrics"]["write-records"] >= count["metrics"]["read-records"] > 0
    assert source["metrics"]["write-bytes"] >= count["metrics"]["read-bytes"] > 0
    assert found["timestamps"]["RUNNING"] > 0 and found["timestamps"]["FINISHED"] == 0
    assert found["status-counts"]["RUNNING"] == 2


def test_the_plan_connects_the_vertices_of_the_details(client: httpx.Client, running: RunningJob) -> None:
    vertices = [v["id"] for v in get(client, f"/jobs/{running.job_id}")["vertices"]]
    nodes = get(client, f"/jobs/{running.job_id}/plan")["plan"]["nodes"]
    assert [node["id"] for node in nodes] == vertices[::-1]
    (arriving,) = nodes[0]["inputs"]
    assert arriving["id"] == vertices[0] and arriving["ship_strategy"] == "HASH"
    assert "inputs" not in nodes[1]


def test_checkpoints_have_sizes_paths_and_subtasks(client: httpx.Client, running: RunningJob) -> None:
    found = get(client, f"/jobs/{running.job_id}/checkpoints")
    assert found["counts"]["completed"] >= 3 and found["counts"]["failed"] == 0
    newest = found["history"][0]
    assert newest["status"] == "COMPLETED" and newest["state_size"] > 0
    assert newest["external_path"].endswith(f"/chk-{newest['id']}")
    details = get(client, f"/jobs/{running.job_id}/checkpoints/details/{newest['id']}")
    vertex = next(v for v in details["tasks"] if details["tasks"][v]["num_subtasks"] == 2)
    subtasks = get(client, f"/jobs/{running.job_id}/checkpoints/details/{newest['id']}/subtasks/{vertex}")
    assert [s["index"] for s in subtasks["subtasks"]] == [0, 1]
    for subtask in subtasks["subtasks"]:
        operators = subtask["operators"]
        assert sum(o["state_size"] for o in operators) == subtask["state_size"] > 0
        assert sum(o["checkpointed_size"] for o in operators) == subtask["checkpointed_size"]
        assert all(o["name"] and o["duration"] >= 0 and len(o["id"]) == 32 for o in operators)
    assert max(o["state_size"] for s in subtasks["subtasks"] for o in s["operators"]) > 0
    assert get(client, f"/jobs/{running.job_id}/checkpoints/config")["mode"] == "exactly_once"


def test_metrics_have_flinks_names_per_subtask_and_operator(
    client: httpx.Client, running: RunningJob
) -> None:
    vertex = get(client, f"/jobs/{running.job_id}")["vertices"][1]["id"]
    base = f"/jobs/{running.job_id}/vertices/{vertex}"
    names = {m["id"] for m in get(client, f"{base}/metrics")}
    assert {"0.numRecordsIn", "1.busyTimeMsPerSecond", "0.count.numRecordsOut", "1.count.seen"} <= names
    values = get(client, f"{base}/metrics", get="0.count.numRecordsIn,1.count.numRecordsIn,0.nothing")
    assert len(values) == 2 and sum(int(each["value"]) for each in values) > 0
    (both,) = get(client, f"{base}/subtasks/metrics", get="numRecordsIn", agg="sum,max")
    assert both["sum"] >= both["max"] > 0 and "min" not in both
    ((restarts),) = get(client, f"/jobs/{running.job_id}/metrics", get="numRestarts")
    assert restarts == {"id": "numRestarts", "value": "0"}
    assert get(client, "/jobs/metrics", get="uptime", jobs=running.job_id)[0]["max"] > 0


def test_watermarks_and_back_pressure_are_told_per_subtask(client: httpx.Client, running: RunningJob) -> None:
    vertex = get(client, f"/jobs/{running.job_id}")["vertices"][1]["id"]
    base = f"/jobs/{running.job_id}/vertices/{vertex}"
    marks = wait_for(lambda: len(found := get(client, f"{base}/watermarks")) == 2 and found)
    assert marks[0]["id"] == "0.currentInputWatermark" and int(marks[0]["value"]) > 0
    found = get(client, f"{base}/backpressure")
    assert found["status"] == "ok" and len(found["subtasks"]) == 2
    assert len(get(client, f"{base}/subtasktimes")["subtasks"]) == 2
    assert get(client, f"{base}/subtasks/1")["subtask"] == 1
    assert get(client, f"{base}/taskmanagers")["taskmanagers"][0]["status"] == "RUNNING"


def test_epochs_tell_what_their_time_went_to(client: httpx.Client, running: RunningJob) -> None:
    for epoch in get(client, f"/jobs/{running.job_id}/epochs")["epochs"]:
        parts = sum(epoch[part] for part in ("launching", "working", "committing"))
        assert 0 < parts <= epoch["duration"] + 1


def test_secrets_of_a_jobs_configuration_are_masked(client: httpx.Client, running: RunningJob) -> None:
    found = {e["key"]: e["value"] for e in get(client, f"/jobs/{running.job_id}/jobmanager/config")}
    assert found["s3.secret-key"] == "******" and found["parallelism.default"] == "2"


def test_a_savepoint_is_triggered_and_asked_about(
    client: httpx.Client, running: RunningJob, tmp_path: pathlib.Path
) -> None:
    path = f"/jobs/{running.job_id}/savepoints"
    answer = client.post(path, json={"target-directory": str(tmp_path), "cancel-job": False})
    assert answer.status_code == 202
    trigger = answer.json()["request-id"]
    done = wait_for(lambda: (s := get(client, f"{path}/{trigger}"))["status"]["id"] == "COMPLETED" and s)
    assert (pathlib.Path(done["operation"]["location"]) / "_metadata").exists()
    assert get(client, f"/jobs/{running.job_id}/checkpoints")["latest"]["savepoint"]["is_savepoint"]


def test_the_same_trigger_id_starts_one_savepoint(
    client: httpx.Client, running: RunningJob, tmp_path: pathlib.Path
) -> None:
    trigger = uuid.uuid4().hex
    path = f"/jobs/{running.job_id}/savepoints"
    for _ in range(3):
        answer = client.post(path, json={"target-directory": str(tmp_path), "triggerId": trigger})
        assert answer.status_code == 202 and answer.json()["request-id"] == trigger
    wait_for(lambda: get(client, f"{path}/{trigger}")["status"]["id"] == "COMPLETED")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_savepoint_that_cannot_be_written_is_a_completed_failure_and_the_job_goes_on(
    client: httpx.Client, running: RunningJob
) -> None:
    path = f"/jobs/{running.job_id}/savepoints"
    trigger = client.post(path, json={"target-directory": "/proc/nowhere"}).json()["request-id"]
    done = wait_for(lambda: (s := get(client, f"{path}/{trigger}"))["status"]["id"] == "COMPLETED" and s)
    assert {"class", "stack-trace", "serialized-throwable"} == set(done["operation"]["failure-cause"])
    epochs = running.statistics.epochs
    wait_for(lambda: running.statistics.epochs > epochs)


def test_a_checkpoint_is_triggered_and_has_a_number(client: httpx.Client, running: RunningJob) -> None:
    path = f"/jobs/{running.job_id}/checkpoints"
    trigger = client.post(path, json={"checkpointType": "FULL"}).json()["request-id"]
    done = wait_for(lambda: (s := get(client, f"{path}/{trigger}"))["status"]["id"] == "COMPLETED" and s)
    assert done["operation"]["checkpointId"] >= 3


def test_a_cancelled_job_can_still_be_read(client: httpx.Client, server: JobServer) -> None:
    job = counting_job()
    wait_for(lambda: job.statistics.epochs)
    assert client.patch(f"/jobs/{job.job_id}", params={"mode": "cancel"}).status_code == 202
    wait_for(lambda: get(client, f"/jobs/{job.job_id}/status")["status"] == "CANCELED")
    assert get(client, f"/jobs/{job.job_id}")["state"] == "CANCELED"
    assert get(client, f"/jobs/{job.job_id}/execution-result")["status"]["id"] == "COMPLETED"
    refused = client.post(f"/jobs/{job.job_id}/savepoints", json={"target-directory": "/tmp/x"})
    assert refused.status_code == 409 and "CANCELED" in refused.json()["errors"][0]
    assert client.patch(f"/jobs/{job.job_id}").status_code == 202


def test_a_job_that_is_said_to_have_ended_takes_no_savepoint_while_it_cleans_up(
    client: httpx.Client, server: JobServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = counting_job()
    wait_for(lambda: job.statistics.epochs)
    cleaned, clean_up = threading.Event(), job._clean_up
    monkeypatch.setattr(job, "_clean_up", lambda status: (cleaned.wait(60), clean_up(status)))
    try:
        path = f"/jobs/{job.job_id}"
        assert client.patch(path, params={"mode": "cancel"}).status_code == 202
        wait_for(lambda: get(client, f"{path}/status")["status"] == "CANCELED")
        for action, target in (("savepoints", "target-directory"), ("stop", "targetDirectory")):
            refused = client.post(f"{path}/{action}", json={target: "/tmp/x"})
            assert refused.status_code == 409 and "CANCELED" in refused.json()["errors"][0]
        assert client.patch(path).status_code == 202
        assert not job.has_ended
    finally:
        cleaned.set()
    wait_for(lambda: job.has_ended)


def test_a_job_is_stopped_with_a_savepoint(client: httpx.Client, tmp_path: pathlib.Path) -> None:
    job = counting_job()
    wait_for(lambda: job.statistics.epochs)
    path = f"/jobs/{job.job_id}"
    answer = client.post(f"{path}/stop", json={"targetDirectory": str(tmp_path), "drain": True})
    trigger = answer.json()["request-id"]
    done = wait_for(
        lambda: (s := get(client, f"{path}/savepoints/{trigger}"))["status"]["id"] == "COMPLETED" and s
    )
    assert pathlib.Path(done["operation"]["location"]).is_dir()
    assert get(client, f"{path}/status") == {"status": "FINISHED"}
    assert client.patch(path).status_code == 409


def test_a_failing_job_tells_the_users_traceback(client: httpx.Client) -> None:
    settings = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1",
                "restart-strategy.fixed-delay.delay": "1 ms"}  # fmt: skip
    job = counting_job(settings, fails_at=7)
    wait_for(lambda: job.has_ended)
    found = get(client, f"/jobs/{job.job_id}/exceptions")["exceptionHistory"]["entries"]
    assert len(found) == 2 and found[0]["failureLabels"]["type"] == "user"
    assert "cannot count 7" in found[0]["stacktrace"] and "jobs.py" in found[0]["stacktrace"]
    assert "count" in found[0]["taskName"]
    assert get(client, f"/jobs/{job.job_id}/execution-result")["job-execution-result"]["failure-cause"][
        "class"
    ]
    assert get(client, f"/jobs/{job.job_id}/checkpoints")["counts"]["failed"] == 2


NOBODY = "0" * 32


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("GET", f"/jobs/{NOBODY}", None, 404, f"Job {NOBODY} not found"),
        ("GET", "/jobs/0123", None, 400, "Cannot resolve path parameter (jobid)"),
        ("GET", "/nowhere", None, 404, "Not found: /nowhere"),
        ("DELETE", "/jobs", None, 404, "Not found"),
        ("PATCH", f"/jobs/{NOBODY}", None, 404, "not found"),
        ("PATCH", "/jobs/{job}?mode=bad", None, 400, "(mode)"),
        ("POST", "/jobs/{job}/savepoints", b"{bad", 400, "did not match expected format"),
        ("POST", "/jobs/{job}/savepoints", b"[]", 400, "did not match expected format"),
        ("POST", "/jobs/{job}/savepoints", b"{}", 400, "[target-directory] must be provided"),
        ("POST", "/jobs/{job}/savepoints", b'{"triggerId": "x", "target-directory": "/t"}', 400, "format"),
        ("POST", "/jobs/{job}/stop", b"{}", 400, "[targetDirectory] must be provided"),
        ("POST", "/jobs/{job}/checkpoints", b'{"checkpointType": "X"}', 400, "format"),
        ("GET", f"/jobs/{{job}}/savepoints/{NOBODY}", None, 404, "There is no savepoint operation"),
        ("GET", "/jobs/{job}/savepoints/xyz", None, 400, "(triggerid)"),
        ("GET", f"/jobs/{{job}}/vertices/{NOBODY}", None, 404, f"JobVertex {NOBODY} not found"),
        ("GET", "/jobs/{job}/checkpoints/details/99999999", None, 404, "Could not find checkpointing"),
        ("GET", "/jobs/{job}/exceptions?maxExceptions=abc", None, 400, "(maxExceptions)"),
        ("GET", "/jobs/metrics?agg=foo", None, 400, "(agg)"),
        ("GET", "/jobs/metrics?jobs=zz", None, 400, "(jobs)"),
        ("PATCH", "/jobs/{job}/rescaling?parallelism=2", None, 404, "not supported: PATCH /jobs/{jobid}/rescaling"),
        ("PUT", "/jobs/{job}/resource-requirements", b"{}", 400, "does not specify resource requirements"),
        ("PUT", "/jobs/{job}/resource-requirements", b'{"a": {}}', 400, "did not match expected format"),
        ("PUT", f"/jobs/{NOBODY}/resource-requirements", b"{}", 404, "not found"),
        ("GET", "/jobs/{job}/rescales/overview", None, 404, "has not enabled the `Adaptive` scheduler"),
        ("POST", "/savepoint-disposal", b"{}", 400, "savepoint-path"),
        ("POST", "/jars/upload", b"{}", 400, "Exactly 1 file"),
        ("DELETE", "/cluster", None, 404, "not supported"),
    ],
)  # fmt: skip
def test_bad_requests_get_flinks_status_and_errors(
    client: httpx.Client,
    running: RunningJob,
    method: str,
    path: str,
    body: bytes | None,
    status: int,
    text: str,
) -> None:
    url = path.replace("{job}", running.job_id)
    headers = {"content-type": "application/json"} if body else {}
    answer = client.request(method, url, content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert any(text in error for error in answer.json()["errors"]), answer.text


def test_a_savepoint_is_disposed_of_and_other_folders_are_not(
    client: httpx.Client, running: RunningJob, tmp_path: pathlib.Path
) -> None:
    saved = pathlib.Path(running.trigger_savepoint(str(tmp_path)))
    other = tmp_path / "other"
    other.mkdir()
    (other / "_metadata").write_text("not a savepoint")
    for path, kept in ((saved, False), (other, True)):
        trigger = client.post("/savepoint-disposal", json={"savepoint-path": str(path)}).json()["request-id"]
        wait_for(lambda t=trigger: get(client, f"/savepoint-disposal/{t}")["status"]["id"] == "COMPLETED")
        assert path.exists() is kept


def test_the_second_part_of_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    async def delays() -> bool:
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            used: socket.socket = writer.get_extra_info("socket")
            accepted.set_result(not used.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with open_port("127.0.0.1", [0]) as listening:
            async with await asyncio.start_server(connected, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname())
                writer.close()
                return await accepted

    assert not asyncio.run(delays())
