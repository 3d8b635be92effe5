"""A running job gets another parallelism through the server, and Flink's words where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from penstock.common.configuration import Configuration
from penstock.rest.server import JobServer
from penstock.runtime.running_job import RunningJob
from tests.rest.jobs import counting_job, wait_for

KEPT = {"web.adaptive-scheduler.rescale-history.size": "5"}


@pytest.fixture
def job(server: JobServer) -> Iterator[RunningJob]:
    made = counting_job(KEPT)
    wait_for(lambda: made.statistics.epochs >= 3)
    yield made
    made.cancel()


def put(client: httpx.Client, job: RunningJob, bounds: dict[str, Any]) -> httpx.Response:
    body = {vertex: {"parallelism": {"lowerBound": a, "upperBound": b}} for vertex, (a, b) in bounds.items()}
    return client.put(f"/jobs/{job.job_id}/resource-requirements", json=body)


def vertices(client: httpx.Client, job: RunningJob) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/jobs/{job.job_id}").json()["vertices"]
    return found


def test_vertices_get_their_upper_bounds_and_go_on_counting(client: httpx.Client, job: RunningJob) -> None:
    source, count = vertices(client, job)
    path = f"/jobs/{job.job_id}"
    required = client.get(f"{path}/resource-requirements").json()
    assert required[count["id"]] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}
    for wanted in (3, 1):
        read = count["metrics"]["read-records"]
        answer = put(client, job, {source["id"]: (1, 1), count["id"]: (1, wanted)})
        assert (answer.status_code, answer.json()) == (200, {})
        source, count = vertices(client, job)
        assert count["parallelism"] == wanted and count["metrics"]["read-records"] >= read
        wait_for(lambda r=read: vertices(client, job)[1]["metrics"]["read-records"] > r)
        details = client.get(f"{path}/vertices/{count['id']}").json()
        assert len(details["subtasks"]) == wanted
    required = client.get(f"{path}/resource-requirements").json()
    assert required[count["id"]] == {"parallelism": {"lowerBound": 1, "upperBound": 1}}
    told = client.get(f"{path}/metrics?get=numRescales").json()
    assert told == [{"id": "numRescales", "value": "2"}]


def test_what_was_rescaled_is_told(client: httpx.Client, job: RunningJob) -> None:
    source, count = vertices(client, job)
    root = f"/jobs/{job.job_id}/rescales"
    assert client.get(f"{root}/overview").json()["latest"] == {
        "completed": None,
        "failed": None,
        "ignored": None,
    }
    put(client, job, {source["id"]: (1, 1), count["id"]: (1, 3)})
    put(client, job, {source["id"]: (1, 1), count["id"]: (2, 3)})
    overview = client.get(f"{root}/overview").json()
    assert overview["rescalesCounts"] == {"inProgress": 0, "completed": 1, "failed": 0, "ignored": 1}
    newest, oldest = client.get(f"{root}/history").json()
    assert (newest["terminalState"], oldest["terminalState"]) == ("IGNORED", "COMPLETED")
    assert (
        oldest
        == client.get(f"{root}/details/{oldest['rescaleUuid']}").json()
        == overview["latest"]["completed"]
    )
    changed = oldest["vertices"][count["id"]]
    assert (changed["preRescaleParallelism"], changed["postRescaleParallelism"]) == (2, 3)
    assert oldest["triggerCause"] == "UPDATE_REQUIREMENT" and oldest["terminatedReason"] == "SUCCEEDED"
    assert client.get(f"{root}/summary").json()["rescalesCounts"] == overview["rescalesCounts"]
    assert client.get(f"{root}/config").json()["rescaleHistoryMax"] == 5
    assert client.get(f"{root}/details/{'0' * 32}").status_code == 404


def test_bounds_that_cannot_be_are_refused_in_flinks_words(client: httpx.Client, job: RunningJob) -> None:
    source, count = vertices(client, job)
    most = count["maxParallelism"]
    nobody = "0" * 32
    for bounds, said in [
        ({source["id"]: (1, 1)},
         f"The request is incomplete, missing job vertex [{count['id']}] resource requirements."),
        ({source["id"]: (1, 1), count["id"]: (1, 1), nobody: (1, 1)},
         f"Job vertex [{nobody}] was not found in the JobGraph."),
        ({source["id"]: (1, 1), count["id"]: (0, 0)},
         f"Both, the requested lower bound [0] and upper bound [0] for job vertex [{count['id']}] must be greater "
         "than zero."),
        ({source["id"]: (1, 1), count["id"]: (3, 2)},
         f"The requested lower bound [3] for job vertex [{count['id']}] is higher than the upper bound [2]."),
        ({source["id"]: (1, 1), count["id"]: (1, most + 1)},
         f"The newly requested parallelism {most + 1} for the job vertex {count['id']} exceeds its maximum "
         f"parallelism {most}."),
    ]:  # fmt: skip
        answer = put(client, job, bounds)
        assert (answer.status_code, answer.json()) == (400, {"errors": [said]})
    assert vertices(client, job)[1]["parallelism"] == 2


def test_two_do_not_change_the_same_job_at_a_time(
    server: JobServer, client: httpx.Client, job: RunningJob
) -> None:
    source, count = vertices(client, job)
    with server.context.one_update_of(job.job_id):
        answer = put(client, job, {source["id"]: (1, 1), count["id"]: (1, 1)})
    assert answer.status_code == 409 and "is in progress" in answer.json()["errors"][0]


def test_a_server_may_have_it_switched_off_and_an_ended_job_has_no_parallelism(
    server: JobServer, client: httpx.Client, job: RunningJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [vertex["id"] for vertex in vertices(client, job)]
    with monkeypatch.context() as patch:
        patch.setattr(
            server.context, "configuration", Configuration.from_dict({"web.rescale.enable": "false"})
        )
        assert put(client, job, dict.fromkeys(ids, (1, 1))).status_code == 403
    job.cancel()
    assert put(client, job, dict.fromkeys(ids, (1, 1))).status_code == 409
