"""What a vertex's code is doing, sampled in its tasks while somebody looks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from penstock.rest.server import JobServer
from penstock.runtime.running_job import RunningJob
from tests.rest.jobs import wait_for
from tests.runtime.in_process import start


def burn(value: int) -> int:
    """Takes CPU."""
    until = time.thread_time() + 0.002
    while time.thread_time() < until:
        pass
    return value


def doze(value: int) -> int:
    """Waits."""
    time.sleep(0.002)
    return value


@pytest.fixture(scope="module")
def job(server: JobServer) -> Iterator[RunningJob]:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(100), Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    end = numbers.map(burn, Types.LONG()).map(doze, Types.LONG())
    made = start([end._transformation], {"rest.flamegraph.enabled": "true", "parallelism.default": "1"})
    yield made
    made.cancel()


def path_of(client: httpx.Client, job: RunningJob) -> str:
    vertex = client.get(f"/jobs/{job.job_id}").json()["vertices"][0]["id"]
    return f"/jobs/{job.job_id}/vertices/{vertex}/flamegraph"


def names(node: dict[str, Any]) -> str:
    return node["name"] + " " + " ".join(names(child) for child in node["children"])


def test_stacks_of_users_functions_are_a_tree_on_and_off_the_cpu(
    client: httpx.Client, job: RunningJob
) -> None:
    path = path_of(client, job)
    assert client.get(path).json() == {"endTimestamp": -3}

    def seen(kind: str, what: str) -> Any:
        answer = client.get(f"{path}?type={kind}").json()
        return what in names(answer["data"]) and answer if answer["endTimestamp"] > 0 else None

    wait_for(lambda: seen("ON_CPU", ".burn:"))
    wait_for(lambda: seen("OFF_CPU", ".doze:"))
    full = client.get(path).json()["data"]
    assert full["name"] == "root" and full["value"] == sum(child["value"] for child in full["children"])
    assert all("penstock.runtime.stage." in child["name"] for child in full["children"])
    assert client.get(f"{path}?subtaskindex=0").json()["data"]["value"] > 0
    assert client.get(f"{path}?subtaskindex=1").status_code == 404
    assert client.get(f"{path}?type=HOT").status_code == 400


def test_it_is_off_unless_the_job_says_so(client: httpx.Client, running: RunningJob) -> None:
    assert client.get(path_of(client, running)).json() == {"endTimestamp": -2}
    assert running.coordinator.profiling.watched() == frozenset()
