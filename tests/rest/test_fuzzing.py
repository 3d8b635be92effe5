"""Made-up requests by the OpenAPI description: whatever comes, no answer is a 500."""

from __future__ import annotations

import httpx
import schemathesis
from hypothesis import HealthCheck, settings

from penstock.rest.openapi import describe
from penstock.rest.server import JobServer
from penstock.runtime.running_job import RunningJob

SCHEMA = schemathesis.openapi.from_dict(describe())


@SCHEMA.parametrize()
@settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)
def test_no_request_is_too_much(case: schemathesis.Case, server: JobServer) -> None:
    answer = case.call(base_url=server.url)
    assert answer.status_code < 500, (answer.request.method, answer.request.url, answer.content)
    assert answer.headers["content-type"]


def test_made_up_bodies_for_a_job_that_runs_are_no_errors_of_the_server(
    client: httpx.Client, running: RunningJob
) -> None:
    for body in (b"", b"null", b"0", b'"x"', b"[]", b"{}", b"\xff", b'{"target-directory": {}}', b'{"cancel-job": 7}',
                 b'{"formatType": []}', b'{"triggerId": {}}', b'{"checkpointType": {}}'):  # fmt: skip
        for path in ("savepoints", "stop", "checkpoints"):
            answer = client.post(
                f"/jobs/{running.job_id}/{path}", content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (202, 400), (path, body, answer.text)
    assert running.status().name == "RUNNING"
