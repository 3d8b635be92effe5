"""Run by the Python that has flink-rest-client: calls what the package offers and prints what it got, as JSON.

walk_of_flink_rest_client.py PORT PROGRAM FOLDER_FOR_SAVEPOINTS
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from flink_rest_client import FlinkRestClient
from flink_rest_client.common import RestException

_LONGEST_S = 240


def until(condition: Any) -> Any:
    """What the condition answers when it holds."""
    deadline = time.monotonic() + _LONGEST_S
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise SystemExit("waited in vain")
        time.sleep(0.05)
    return found


def completed(trigger: Any) -> Any:
    """What came out of something that takes its time."""
    return until(lambda: (s := trigger.status)["status"]["id"] == "COMPLETED" and s)["operation"]


def of_the_server(client: Any) -> dict[str, Any]:
    log = client.jobmanager.logs()[0]["name"]
    return {
        "overview": client.overview(),
        "config": client.config(),
        "datasets": client.datasets(),
        "jobmanager": [
            client.jobmanager.config(),
            client.jobmanager.metrics(),
            client.jobmanager.get_log(log),
        ],
    }


def of_executors(client: Any) -> dict[str, Any]:
    managers = client.taskmanagers
    (first, *_) = managers.taskmanager_ids()
    return {
        "one": managers.get(first),
        "metrics": managers.get_metrics(first),
        "aggregated": managers.metrics(),
        "logs": managers.get_logs(first),
        "threads": len(managers.get_thread_dump(first)),
    }


def of_a_job(client: Any, job: str) -> dict[str, Any]:
    jobs = client.jobs
    checkpoint = jobs.get_checkpoint_ids(job)[0]
    return {
        "all": jobs.all(),
        "overview": jobs.overview(),
        "details": jobs.get(job),
        "config": jobs.get_config(job),
        "exceptions": jobs.get_exceptions(job),
        "result": jobs.get_execution_result(job),
        "metrics": jobs.get_metrics(job),
        "aggregated": jobs.metrics(["uptime"], ["min", "max"]),
        "plan": jobs.get_plan(job),
        "accumulators": jobs.get_accumulators(job, include_serialized_value=True),
        "checkpointing": jobs.get_checkpointing_configuration(job),
        "checkpoint": jobs.get_checkpoint_details(job, checkpoint, show_subtasks=True),
    }


def of_a_vertex(client: Any, job: str) -> dict[str, Any]:
    vertex = client.jobs.get_vertex(job, client.jobs.get_vertex_ids(job)[-1])
    subtasks = vertex.subtasks
    return {
        "details": vertex.details(),
        "backpressure": vertex.backpressure(),
        "metrics": vertex.metrics(),
        "times": vertex.subtasktimes(),
        "taskmanagers": vertex.taskmanagers(),
        "watermarks": vertex.watermarks(),
        "subtasks": subtasks.subtask_ids(),
        "subtask": subtasks.get(0),
        "attempt": subtasks.get_attempt(0, 0),
        "accumulators": subtasks.get_attempt_accumulators(0),
        "aggregated": subtasks.metrics(["numRecordsIn"], ["sum", "avg"], subtasks.subtask_ids()),
    }


def refused(call: Any, *arguments: Any) -> str:
    """What the package raises; it must raise."""
    try:
        call(*arguments)
    except RestException as error:
        return str(error)
    raise SystemExit(f"{call} went well")


def main(port: str, program: str, savepoints: str) -> dict[str, Any]:
    client = FlinkRestClient.get("localhost", int(port))
    jar = client.jars.upload(program)["filename"].rpartition("/")[2]
    found: dict[str, Any] = {"plan": client.jars.get_plan(jar)}
    first = client.jars.run(jar, arguments={"name": "one"}, parallelism=2)
    until(lambda: client.jobs.get_checkpoints(first)["counts"]["completed"] >= 2)
    found["server"] = of_the_server(client)
    found["executors"] = of_executors(client)
    found["job"] = of_a_job(client, first)
    found["vertex"] = of_a_vertex(client, first)
    found["savepoint"] = completed(client.jobs.create_savepoint(first, savepoints))
    found["failed savepoint"] = completed(client.jobs.create_savepoint(first, "/proc/nowhere"))
    found["stopped"] = completed(client.jobs.stop(first, savepoints))
    second = client.jars.upload_and_run(
        program, savepoint_path=found["stopped"]["location"], allow_non_restored_state=False, parallelism=1
    )
    found["restored"] = until(
        lambda: (c := client.jobs.get_checkpoints(second))["counts"]["restored"] == 1 and c
    )
    found["terminated"] = client.jobs.terminate(second)
    until(lambda: client.overview()["jobs-cancelled"] == 1)
    found["states"] = {each["id"]: each["status"] for each in client.jobs.all()}
    found["ids"] = [first, second]
    found["deleted"] = client.jars.delete(jar)
    found["jars"] = client.jars.all()
    found["refused"] = [refused(client.jobs.get, "0" * 32), refused(client.jars.run, jar)]
    found["cluster"] = client.delete_cluster()
    return found


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
