"""SHOW JOBS, DESCRIBE JOB and STOP JOB, over jobs that run in this process."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import JobEndedError, NotSupportedError, SqlError, ValidationError
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.job_list import EndedJob, find_job, list_jobs, remember_job
from penstock.runtime.spark.action_job import ActionJob
from penstock.sql.streaming import jobs
from penstock.table import EnvironmentSettings, TableEnvironment

NOBODY = "0" * 32


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture
def job(environment: TableEnvironment) -> Iterator[str]:
    """The id of an INSERT that goes on for ever."""
    environment.execute_sql("CREATE TABLE src (n INT) WITH ('connector'='datagen','rows-per-second'='10')")
    environment.execute_sql("CREATE TABLE hole (n INT) WITH ('connector' = 'blackhole')")
    running = environment.execute_sql("INSERT INTO hole SELECT n FROM src").get_running_job()
    assert running is not None
    yield running.job_id
    if not running.has_ended:
        running.cancel()


def rows(environment: TableEnvironment, statement: str) -> list[list[Any]]:
    with environment.execute_sql(statement).collect() as found:
        return [list(row) for row in found]


def test_running_and_ended_jobs_are_shown(environment: TableEnvironment, job: str) -> None:
    result = environment.execute_sql("SHOW JOBS")
    assert result.get_resolved_schema().get_column_names() == ["job id", "job name", "status", "start time"]
    [shown] = [row for row in rows(environment, "SHOW JOBS") if row[0] == job]
    assert shown[1:3] == ["insert-into_default_catalog.default_database.hole", "RUNNING"]
    assert rows(environment, f"DESCRIBE JOB '{job}'") == [shown]
    assert rows(environment, f"STOP JOB '{job}'") == [["OK"]]
    assert rows(environment, f"DESCRIBE JOB '{job}'") == [[*shown[:2], "CANCELED", shown[3]]]


def test_the_table_shows_the_start_as_a_time(environment: TableEnvironment, job: str) -> None:
    [line] = [line for line in environment.execute_sql(f"DESCRIBE JOB '{job}'").lines() if job[:20] in line]
    assert "Instant" not in line
    assert f"{find_job(job).start_time:.0f}"[:3] not in line.split("|")[4]


@pytest.mark.parametrize("drain", ["", " WITH DRAIN"])
def test_a_job_stops_with_a_savepoint(
    environment: TableEnvironment, job: str, tmp_path: pathlib.Path, drain: str
) -> None:
    environment.execute_sql(f"SET 'execution.checkpointing.savepoint-dir' = '{tmp_path}'")
    [[path]] = rows(environment, f"STOP JOB '{job}' WITH SAVEPOINT{drain}")
    assert pathlib.Path(path.removeprefix("file:")).is_relative_to(tmp_path)
    assert list(tmp_path.rglob("*metadata*"))
    assert find_job(job).status().name == "FINISHED"


def test_a_job_that_has_ended_cannot_be_stopped(environment: TableEnvironment, job: str) -> None:
    environment.execute_sql(f"STOP JOB '{job}'")
    for how in ("", " WITH SAVEPOINT"):
        with pytest.raises(JobEndedError, match="CANCELED"):
            environment.execute_sql(f"STOP JOB '{job}'{how}")


def test_a_job_that_is_not_there_is_told(environment: TableEnvironment) -> None:
    for statement in (f"DESCRIBE JOB '{NOBODY}'", f"STOP JOB '{NOBODY}'"):
        with pytest.raises(ValidationError, match=f"job {NOBODY} does not exist here"):
            environment.execute_sql(statement)


@pytest.mark.parametrize(
    "statement", ["STOP JOB 'a' WITH DRAIN", "STOP JOB 'a' WITH", "STOP JOB", "STOP 'a'", "STOP JOB a b"]
)
def test_what_is_no_stop_statement_is_refused(environment: TableEnvironment, statement: str) -> None:
    with pytest.raises(SqlError):
        environment.execute_sql(statement)


def test_a_batch_statement_is_a_job_too() -> None:
    done = ActionJob("collect", lambda: [1]).start()
    assert done.result() == [1]
    assert find_job(done.job_id).status().name == "FINISHED"
    failed = ActionJob("collect", lambda: 1 / 0).start()
    with pytest.raises(ZeroDivisionError):
        failed.result()
    assert find_job(failed.job_id).status().name == "FAILED"
    with pytest.raises(NotSupportedError, match="a savepoint of a batch job"):
        failed.stop_with_savepoint()
    with pytest.raises(JobEndedError):
        failed.cancel()


def test_only_the_last_ended_jobs_are_remembered() -> None:
    from penstock.common.job_status import JobStatus

    for i in range(250):
        remember_job(EndedJob(f"old-{i}", "x", float(i), JobStatus.FINISHED))
    assert len([j for j in list_jobs() if j.job_id.startswith("old-")]) == 200
    with pytest.raises(ValidationError):
        find_job("old-0")
