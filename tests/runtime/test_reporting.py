"""Metrics of jobs that really run, as reporters see them; and what a job's coordinator logs."""

from __future__ import annotations

import json
import logging
import pathlib
import re
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.common.errors import NotSupportedError
from penstock.connectors.datagen.ranges import RangeEnumerator
from penstock.graph.ids import operator_id
from penstock.metrics.reporters.prometheus import PrometheusReporter
from penstock.rest.views.jobs import details
from penstock.runtime.reporting import reporting
from tests.rest.jobs import counting_job, wait_for

PROM = {"metrics.reporter.prom.factory.class": "prom", "metrics.reporter.prom.port": "0"}
BOARD = pathlib.Path(__file__).parents[2] / "docs/monitoring/grafana-penstock.json"
TASK, OPERATOR, JOB = (
    "flink_taskmanager_job_task_",
    "flink_taskmanager_job_task_operator_",
    "flink_jobmanager_job_",
)
PROMISED = {
    *(f"{TASK}{name}{rate}" for name in ("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut")
      for rate in ("", "PerSecond")),
    *(f"{TASK}{name}TimeMsPerSecond" for name in ("busy", "idle", "backPressured")),
    f"{TASK}currentInputWatermark", f"{OPERATOR}currentOutputWatermark", f"{OPERATOR}numRecordsInPerSecond",
    f"{OPERATOR}watermarkLag", f"{OPERATOR}currentEmitEventTimeLag", f"{OPERATOR}seen",
    *(f"{JOB}{name}" for name in (
        "uptime", "numRestarts", "lastCheckpointDuration", "lastCheckpointSize", "numberOfCompletedCheckpoints",
        "numberOfFailedCheckpoints", "epochDuration_count")),
    "flink_jobmanager_numRunningJobs",
}  # fmt: skip


def scraped() -> dict[str, list[tuple[dict[str, str], float]]]:
    [group] = reporting.groups()
    [reporter] = group.reporters
    assert isinstance(reporter, PrometheusReporter)
    with urllib.request.urlopen(f"http://127.0.0.1:{reporter.port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_prometheus_sees_every_promised_metric_of_a_running_job() -> None:
    job = counting_job(PROM)
    try:
        wait_for(lambda: job.statistics.epochs >= 3)
        found = scraped()
        assert PROMISED - set(found) == set()
        [(labels, epochs)] = found[f"{JOB}epochs"]
        assert epochs >= 3 and labels["job_id"] == job.job_id
        subtasks = {labels["subtask_index"] for labels, _ in found[f"{OPERATOR}seen"]}
        assert subtasks == {"0", "1"}
        read = sum(value for _, value in found[f"{OPERATOR}seen"])
        assert (
            0
            < read
            <= sum(
                v for labels, v in found[f"{OPERATOR}numRecordsOut"] if "numbers" in labels["operator_name"]
            )
        )
    finally:
        job.cancel()
    assert reporting.groups() == []


def test_labels_have_the_ids_that_the_rest_interface_has() -> None:
    job = counting_job(PROM)
    try:
        wait_for(lambda: job.statistics.epochs >= 2)
        found = scraped()
        vertices = {vertex["id"]: vertex["name"] for vertex in details(job.statistics)["vertices"]}
        assert {labels["task_id"] for labels, _ in found[f"{TASK}numRecordsIn"]} == set(vertices)
        [(counts, _), _] = found[f"{OPERATOR}seen"]
        assert vertices[counts["task_id"]].startswith("count")
        assert counts["operator_id"] == operator_id("counts") != "counts"
    finally:
        job.cancel()


def test_records_that_a_source_knows_of_and_has_not_read_are_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RangeEnumerator, "pending_records", lambda self, split, position: 7)
    job = counting_job(PROM)
    try:
        wait_for(lambda: job.statistics.epochs >= 2)
        [(labels, pending)] = scraped()[f"{OPERATOR}pendingRecords"]
        assert (labels["operator_name"], pending) == ("Source:_numbers", 7)
    finally:
        job.cancel()


def test_time_shares_of_a_subtask_add_up_to_a_second() -> None:
    job = counting_job(PROM)
    try:
        wait_for(lambda: job.statistics.epochs >= 3)
        found = scraped()
        shares = [found[f"{TASK}{name}TimeMsPerSecond"] for name in ("busy", "idle", "backPressured")]
        for parts in zip(*shares, strict=True):
            assert abs(sum(value for _, value in parts) - 1000) <= 2
    finally:
        job.cancel()


def test_two_jobs_with_the_same_settings_share_a_port() -> None:
    first, second = counting_job(PROM), counting_job(PROM)
    try:
        wait_for(lambda: first.statistics.epochs and second.statistics.epochs)
        assert {labels["job_id"] for labels, _ in scraped()[f"{JOB}uptime"]} == {first.job_id, second.job_id}
        first.cancel()
        assert {labels["job_id"] for labels, _ in scraped()[f"{JOB}uptime"]} == {second.job_id}
    finally:
        first.cancel()
        second.cancel()
    assert reporting.groups() == []


def test_the_last_report_has_what_a_short_job_did(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "metrics.jsonl"
    settings = {
        "metrics.reporter.lines.factory.class": "jsonlines",
        "metrics.reporter.lines.path": str(path),
        "metrics.reporter.lines.interval": "1 h",
    }
    job = counting_job(settings, last=100)
    job.wait(60)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    seen = [line["count"] for line in lines if line["name"].endswith(".seen")]
    assert sum(seen) == job.statistics.records_read


def test_a_job_with_an_impossible_reporter_is_refused_before_it_starts() -> None:
    with pytest.raises(NotSupportedError, match="JMX"):
        counting_job({"metrics.reporter.my.factory.class": "jmx"})


def test_the_board_asks_only_for_metrics_that_jobs_have() -> None:
    asked = {
        name
        for panel in json.loads(BOARD.read_text())["panels"]
        for target in panel.get("targets", ())
        for name in re.findall(r"\bflink_\w+", target["expr"])
    }
    assert len(asked) > 20
    job = counting_job(PROM)
    try:
        wait_for(lambda: job.statistics.epochs >= 2)
        # of windows and interval joins, which this job has none of
        assert asked - set(scraped()) == {f"{OPERATOR}numLateRecordsDropped"}
    finally:
        job.cancel()


def test_an_epoch_is_a_line_of_the_log_if_the_job_wants_that(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        job = counting_job({"penstock.log.epochs": "true"}, last=50)
        job.wait(60)
    lines = [r.getMessage() for r in caplog.records if " epoch=" in r.getMessage()]
    assert len(lines) == job.statistics.epochs
    fields = dict(pair.split("=") for pair in lines[0].split("] ")[1].split())
    assert lines[0].startswith(f"[job {job.job_id}] ")
    assert fields["epoch"] == "1" and float(fields["total_ms"]) >= float(fields["working_ms"])
    assert {"planning_ms", "launching_ms", "committing_ms", "records", "state_bytes"} <= set(fields)


def test_epochs_are_not_logged_by_default_and_failures_name_their_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    with caplog.at_level(logging.INFO, "penstock"):
        job = counting_job(settings, fails_at=7)
        wait_for(lambda: job.has_ended)
    told = [r for r in caplog.records if r.name == "penstock.runtime.coordinator"]
    assert told and all(r.getMessage().startswith(f"[job {job.job_id}] ") for r in told)
    assert not any(" epoch=" in r.getMessage() for r in told)
