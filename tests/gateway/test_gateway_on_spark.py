"""Batch statements, which Spark runs, and values of every type as Flink's own gateway showed them."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest

from penstock.gateway import GatewayService
from penstock.runtime.job_list import find_job
from tests.gateway.client import GatewayUser, until

pytestmark = pytest.mark.spark
FLINK = json.loads((pathlib.Path(__file__).parent / "flink_values.json").read_text())
SLOW = "SELECT COUNT(*) FROM (SELECT MD5(CAST(n AS STRING)) h FROM big) WHERE h LIKE '%zzz'"


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayUser]:
    options = {"execution.runtime-mode": "BATCH", "table.local-time-zone": FLINK["zone"]}
    with GatewayUser(GatewayService(options)) as user:
        yield user


def test_types_and_values_look_as_flink_shows_them(gateway: GatewayUser) -> None:
    operation = gateway.submit(FLINK["statement"])
    pages = [page for page in gateway.pages(operation) if page["results"]["data"]]
    assert pages[0]["results"]["columns"] == FLINK["columns"]
    assert pages[0]["results"]["data"] == [FLINK["JSON"]]
    assert gateway.rows(FLINK["statement"], "PLAIN_TEXT") == [FLINK["PLAIN_TEXT"]["fields"]]


def test_a_batch_query_is_a_job_that_can_be_looked_up(gateway: GatewayUser) -> None:
    operation = gateway.submit("SELECT * FROM (VALUES (1), (2)) t(a) ORDER BY a")
    pages = list(gateway.pages(operation))
    assert [r["fields"] for p in pages for r in p["results"]["data"]] == [[1], [2]]
    assert find_job(pages[0]["jobID"]).status().name == "FINISHED"


def test_an_error_of_a_running_batch_query_is_told_when_it_is_fetched(gateway: GatewayUser) -> None:
    assert "/ by zero" in gateway.failure("SELECT 1 / a FROM (VALUES (0)) t(a)")


def test_a_batch_insert_is_a_job_of_its_own(gateway: GatewayUser, tmp_path: pathlib.Path) -> None:
    gateway.run(
        f"CREATE TABLE numbers (a INT) WITH ('connector'='filesystem','path'='{tmp_path}','format'='csv')"
    )
    [[job]] = gateway.rows("INSERT INTO numbers VALUES (1), (2)")
    until(lambda: find_job(job).status().name == "FINISHED", "the end of the INSERT")
    assert sorted(gateway.rows("SELECT a FROM numbers")) == [[1], [2]]
    [[job]] = gateway.rows("INSERT INTO numbers VALUES (3)", **{"table.dml-sync": "true"})
    assert find_job(job).status().name == "FINISHED"
    assert sorted(gateway.rows("SELECT a FROM numbers")) == [[1], [2], [3]]


def test_closing_a_batch_query_ends_its_spark_jobs(gateway: GatewayUser) -> None:
    gateway.run(
        "CREATE TABLE big (n BIGINT) WITH ('connector'='datagen','number-of-rows'='1000000000',"
        "'fields.n.kind'='sequence','fields.n.start'='1','fields.n.end'='1000000000')"
    )
    operation = gateway.submit(SLOW)
    job = gateway.first_page(operation)["jobID"]
    assert find_job(job).status().name == "RUNNING"
    gateway.call("DELETE", gateway.path(operation, "/close"))
    until(lambda: find_job(job).status().name == "CANCELED", "the end of the job")
    assert gateway.rows("SELECT 1") == [[1]]
