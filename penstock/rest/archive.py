"""What is left of a job that has ended: the answers to everything that can be asked about it, by path.

The same is what Flink's history server reads: one JSON file per job, `{"archive": [{"path": ..., "json": ...}]}`,
where `json` is a text. So our history server reads Flink's archives and Flink's reads ours.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock.checkpoint.filesystem import filesystem_for
from penstock.graph.ids import vertex_id
from penstock.rest.dispatch import read_job
from penstock.rest.messages import Request, RestError
from penstock.rest.views import jobs
from penstock.runtime.running_job import RunningJob

__all__ = ["archive_job", "describe_job", "list_archives", "read_archive", "write_archive"]

LOG = logging.getLogger(__name__)
_MANY_SUBTASKS = 2000
_OF_JOB = (
    "", "/accumulators", "/checkpoints", "/checkpoints/config", "/config", "/epochs", "/exceptions",
    "/execution-result", "/jobmanager/config", "/plan", "/resource-requirements", "/sql", "/status",
)  # fmt: skip
_FROM_THE_START = (
    "", "/checkpoints/config", "/config", "/jobmanager/config", "/plan", "/resource-requirements", "/sql",
)  # fmt: skip
_OF_VERTEX = (
    "", "/accumulators", "/backpressure", "/jm-operator-metrics", "/subtasks/accumulators", "/subtasktimes",
    "/taskmanagers", "/watermarks",
)  # fmt: skip


def archive_job(job: RunningJob) -> dict[str, Any]:
    """Answers by path."""
    return _answers(job, _paths(job))


def describe_job(job: RunningJob) -> dict[str, Any]:
    """What can be told of a job that has just started, and need not be asked again, by path."""
    return _answers(job, (f"/jobs/{job.job_id}{part}" for part in _FROM_THE_START))


def _answers(job: RunningJob, paths: Iterable[str]) -> dict[str, Any]:
    answers: dict[str, Any] = {"/jobs/overview": {"jobs": [jobs.overview(job.statistics)]}}
    for path in paths:
        try:
            answers[path] = read_job(job, Request("GET", path)).body
        except RestError:
            LOG.debug("%s is not archived", path, exc_info=True)
    return answers


def _paths(job: RunningJob) -> Iterator[str]:
    stats = job.statistics
    root = f"/jobs/{stats.job.job_id}"
    yield from (root + part for part in _OF_JOB)
    vertices = {vertex_id(stats.job.graph, stage): stage for stage in stats.job.stages.stages}
    for number in stats.checkpoints.known():
        yield f"{root}/checkpoints/details/{number}"
        yield from (f"{root}/checkpoints/details/{number}/subtasks/{vertex}" for vertex in vertices)
    for vertex, stage in vertices.items():
        yield from (f"{root}/vertices/{vertex}{part}" for part in _OF_VERTEX)
        for index in range(min(stage.parallelism, _MANY_SUBTASKS)):
            subtask = f"{root}/vertices/{vertex}/subtasks/{index}"
            yield subtask
            yield f"{subtask}/attempts/{stats.restarts}"
            yield f"{subtask}/attempts/{stats.restarts}/accumulators"


def write_archive(directory: str, job_id: str, answers: Mapping[str, Any]) -> str:
    """Writes the archive of a job and returns its path."""
    files, root = filesystem_for(directory)
    path = f"{root.rstrip('/')}/{job_id}"
    listed = [{"path": where, "json": json.dumps(answer, default=str)} for where, answer in answers.items()]
    files.write(path, json.dumps({"archive": listed}).encode())
    return path


def list_archives(directory: str) -> list[str]:
    """Ids of the archived jobs."""
    files, root = filesystem_for(directory)
    try:
        names = files.names(root)
    except FileNotFoundError:
        return []
    return sorted(name for name in names if len(name) == 32 and not set(name) - set("0123456789abcdef"))


def read_archive(directory: str, job_id: str) -> dict[str, Any]:
    """Answers by path.

    Raises:
        ValueError: The file is no archive.
    """
    files, root = filesystem_for(directory)
    content = json.loads(files.read(f"{root.rstrip('/')}/{job_id}"))
    if not isinstance(content, dict) or not isinstance(content.get("archive"), list):
        raise ValueError(f"{job_id} is not an archive of a job")
    return {each["path"]: json.loads(each["json"]) for each in content["archive"]}
