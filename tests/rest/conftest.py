"""A server over a job that runs while the tests of a file do."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import httpx
import pytest

from penstock.common.configuration import Configuration
from penstock.rest.server import JobServer, make_context
from penstock.runtime.running_job import RunningJob
from tests.rest.jobs import counting_job, wait_for


@pytest.fixture(scope="module")
def server() -> Iterator[JobServer]:
    opened = JobServer(make_context(Configuration.from_dict({"rest.port": "0"}))).start()
    yield opened
    opened.stop()


@pytest.fixture(scope="module")
def client(server: JobServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=30) as made:
        yield made


@pytest.fixture(scope="module")
def running(server: JobServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningJob]:
    folder: pathlib.Path = tmp_path_factory.mktemp("checkpoints")
    settings = {
        "execution.checkpointing.dir": str(folder),
        "web.checkpoints.history": "10000",  # none is forgotten between two requests
        "s3.secret-key": "hidden",
        "parallelism.default": "2",
    }
    job = counting_job(settings)
    wait_for(lambda: job.statistics.epochs >= 3)
    yield job
    if not job.has_ended:
        job.cancel()
