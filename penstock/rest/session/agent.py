"""A program's side of a session: tells of its jobs, answers reads about them, lets itself be steered."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.rest.archive import archive_job, describe_job
from penstock.rest.dispatch import read_job
from penstock.rest.messages import Request, not_found
from penstock.rest.ports import savepoint_directory_of
from penstock.rest.requirements import update_requirements
from penstock.rest.session.channel import Channel
from penstock.rest.session.lost_jobs import failure_of
from penstock.rest.session.store import Loss
from penstock.rest.views import jobs as views
from penstock.runtime.job_registry import jobs, unwatch_jobs, watch_jobs
from penstock.runtime.running_job import RunningJob

__all__ = ["Agent"]

_LAST_WORDS_SECONDS = 60.0


class Agent:
    """Connects a program to its session.

    Args:
        path: The session's socket.
        program: The id that the session has given to the program.
        abandoned: Called when the session has gone; the program cannot go on without its Spark.
    """

    def __init__(self, path: str, program: str, abandoned: Callable[[], None]) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        self._ending = threading.Event()
        self._abandoned = abandoned
        self._channel = Channel(connection, self._handle, self._closed).start()
        self.settings: dict[str, Any] = self._channel.ask("hello", program=program, pid=os.getpid())
        """What the session tells the program: where Spark is, and what happened to jobs that it goes on with."""
        self._jobs: dict[str, RunningJob] = {}
        watch_jobs(self)

    def job_started(self, job: RunningJob) -> None:
        self._jobs[job.job_id] = job
        stats = job.statistics
        for loss in self.settings["losses"].get(job.job_id, ()):
            stats.restarted_after(failure_of(Loss(**loss)))
        self._channel.ask(
            "started",
            job=job.job_id,
            answers=describe_job(job),
            savepoints=savepoint_directory_of(stats.job.configuration),
            checkpoints=stats.job.storage.base if stats.job.storage.durable else None,
        )

    def job_ended(self, job: RunningJob) -> None:
        self._channel.ask("ended", job=job.job_id, archive=archive_job(job))

    def close(self) -> None:
        """The program has ended; whoever waits for an answer still gets it."""
        self._ending.set()
        unwatch_jobs(self)
        self._channel.finish(_LAST_WORDS_SECONDS)

    def _closed(self) -> None:
        if not self._ending.is_set():
            self._abandoned()

    def _handle(self, question: str, fields: Mapping[str, Any]) -> Any:
        if question == "stop-all":
            for each in jobs():
                each.cancel()
            return None
        job = self._jobs.get(str(fields.get("job")))
        if job is None:
            raise not_found(f"Job {fields.get('job')} not found")
        if question == "read":
            query = {name: tuple(values) for name, values in fields.get("query", {}).items()}
            return read_job(job, Request("GET", str(fields["path"]), query)).body
        if question == "overview":
            return views.overview(job.statistics)
        return self._steer(job, question, fields)

    def _steer(self, job: RunningJob, question: str, fields: Mapping[str, Any]) -> Any:
        directory = fields.get("directory")
        if question == "cancel":
            return job.cancel()
        if question == "savepoint":
            return job.trigger_savepoint(directory)
        if question == "stop":
            return job.stop_with_savepoint(bool(fields.get("drain")), directory)
        if question == "cancel-with-savepoint":
            return job.cancel_with_savepoint(directory)
        if question == "checkpoint":
            return job.trigger_checkpoint()
        if question == "requirements":
            bounds = {vertex: (lower, upper) for vertex, (lower, upper) in fields["bounds"].items()}
            return update_requirements(job, bounds)
        raise not_found(f"nobody knows what '{question}' is")
