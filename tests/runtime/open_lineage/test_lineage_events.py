"""OpenLineage events of jobs that really run."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.runtime.open_lineage.transport import make_transport
from penstock.runtime.running_job import RunningJob
from tests.metrics.test_reporters import Receiver
from tests.rest.jobs import counting_job, wait_for


def to_file(path: pathlib.Path) -> dict[str, str]:
    return {
        "openlineage.transport.type": "file",
        "openlineage.transport.location": str(path),
        "openlineage.namespace": "orders",
    }


def events_of(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def ended(job: RunningJob) -> None:
    wait_for(lambda: job.has_ended)


def test_a_job_tells_its_start_and_end_with_inputs_and_outputs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "events.jsonl"
    job = counting_job(to_file(path), last=50)
    ended(job)
    first, last = events_of(path)
    assert (first["eventType"], last["eventType"]) == ("START", "COMPLETE")
    assert first["run"]["runId"] == last["run"]["runId"]
    assert first["job"]["namespace"] == "orders" and first["job"]["name"] == job.job_name
    assert first["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert [dataset["name"] for dataset in first["inputs"]] == ["numbers"]
    assert last["run"]["facets"]["penstock_job"]["recordsRead"] == job.statistics.records_read


def test_a_job_that_fails_tells_why(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "events.jsonl"
    ended(counting_job({**to_file(path), "restart-strategy.type": "none"}, fails_at=7))
    last = events_of(path)[-1]
    assert last["eventType"] == "FAIL"
    assert "cannot count 7" in last["run"]["facets"]["errorMessage"]["message"]


def test_a_job_that_is_cancelled_is_aborted_and_running_is_told_in_between(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "events.jsonl"
    job = counting_job({**to_file(path), "openlineage.trackingIntervalInSeconds": "1"})
    wait_for(lambda: path.exists() and len(events_of(path)) >= 2)
    job.cancel()
    kinds = [event["eventType"] for event in events_of(path)]
    assert kinds[:2] == ["START", "RUNNING"] and kinds[-1] == "ABORT"


def test_events_are_posted_with_the_key() -> None:
    receiver = Receiver()
    settings = {
        "openlineage.transport.type": "http",
        "openlineage.transport.url": receiver.url,
        "openlineage.transport.auth.type": "api_key",
        "openlineage.transport.auth.apiKey": "k",
    }
    ended(counting_job(settings, last=50))
    assert [path for _, path, _ in receiver.requests] == ["/api/v1/lineage"] * 2
    assert [json.loads(body)["eventType"] for _, _, body in receiver.requests] == ["START", "COMPLETE"]
    receiver.close()


def test_a_server_that_is_away_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"openlineage.transport.type": "http", "openlineage.transport.url": "http://127.0.0.1:9"}
    job = counting_job(settings, last=50)
    job.wait(60)
    assert caplog.text.count("lineage cannot be told") == 1


def test_a_transport_that_cannot_be_right_is_refused() -> None:
    assert make_transport({}) is None
    with pytest.raises(NotSupportedError, match="transport 'kafka'"):
        make_transport({"openlineage.transport.type": "kafka"})
    with pytest.raises(ValidationError, match=r"transport\.url is missing"):
        counting_job({"openlineage.transport.type": "http"})
