"""Changes on their way from a job to the program that reads them."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.datatypes import DataTypes
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import collecting, jobs
from penstock.sql.streaming.collecting import Collected, CollectedTable
from penstock.table import EnvironmentSettings, TableEnvironment


class Job:
    """As much of a job as collecting looks at."""

    def __init__(self) -> None:
        self.has_ended = False
        self.cancelled = False
        self.coordinator: Any = self

    def cancel(self) -> None:
        self.cancelled = self.has_ended = True

    def wait(self, timeout: float | None = None) -> None:
        assert self.has_ended


def epoch(number: int) -> list[CollectedTable]:
    table = pa.table({"n": pa.array([number] * 10, pa.int32()), "kind": pa.array([0] * 10, pa.int8())})
    return [CollectedTable(number, 0, table)]


@pytest.fixture
def publishing(monkeypatch: pytest.MonkeyPatch) -> tuple[Collected, Job, threading.Thread]:
    """A thread that publishes ten epochs, of which only one fits."""
    monkeypatch.setattr(collecting, "_MOST_BYTES", epoch(1)[0].table.nbytes)
    collected, job = Collected([DataTypes.INT()]), Job()
    rows = collected.rows(job)  # type: ignore[arg-type]
    thread = threading.Thread(target=lambda: [collected.publish(epoch(i)) for i in range(1, 11)])
    thread.rows = rows  # type: ignore[attr-defined]
    thread.start()
    return collected, job, thread


def test_a_job_waits_for_a_program_that_reads_slowly(publishing: Any) -> None:
    collected, _, thread = publishing
    for i in range(1, 11):
        assert [next(thread.rows)[0] for _ in range(10)] == [i] * 10
        assert len(collected._tables) <= 2
    thread.join(60)
    assert not thread.is_alive()


def test_a_job_that_waits_can_be_cancelled(publishing: Any) -> None:
    _, job, thread = publishing
    thread.join(0.2)
    assert thread.is_alive()
    thread.rows.close()
    thread.join(60)
    assert not thread.is_alive()
    assert job.cancelled


def test_rows_that_nobody_has_begun_to_read_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(
        "CREATE TABLE src (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')"
    )
    rows = environment.execute_sql("SELECT n FROM src").collect()
    job = rows.job
    assert job is not None
    rows.close()
    assert job.status().name == "CANCELED"
