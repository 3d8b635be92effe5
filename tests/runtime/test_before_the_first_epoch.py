"""What is asked of a job before its first epoch, when nobody knows the splits of its sources."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.running_job import RunningJob
from tests.runtime.in_process import start

STREAMING = {"execution.runtime-mode": "STREAMING"}


def numbers(settings: dict[str, str]) -> tuple[RunningJob, CollectSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda n: n, 50, RateLimiterStrategy.no_op(), Types.LONG())
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    stream = read.uid("source").map(lambda n: n, Types.LONG()).uid("same")
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (stream._transformation,), parallelism=1, uid="sink", sink=sink)
    return start([end], {**STREAMING, **settings}), sink


def asking_first(patch: pytest.MonkeyPatch, ends_job: bool, ask: Callable[[RunningJob], Any]) -> list[Any]:
    """Lets jobs be asked something before they begin; returns the requests."""
    requests: list[Any] = []
    begin = RunningJob.start

    def begins(job: RunningJob) -> RunningJob:
        requests.append(job.coordinator.between_epochs(lambda: ask(job), ends_job))
        return begin(job)

    patch.setattr(RunningJob, "start", begins)
    return requests


def test_a_savepoint_has_all_to_come(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        requests = asking_first(patch, True, lambda job: job._savepoint(str(tmp_path)))
        job, _ = numbers({})
    job.wait(60)
    assert requests[0].error is None and job.statistics.epochs == 0
    job, sink = numbers({"execution.state-recovery.path": requests[0].answer})
    assert sorted(sink.iterator(job)) == list(range(50))


def test_a_job_that_is_rescaled_reads_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        requests = asking_first(patch, False, lambda job: job.coordinator.rescale({"source": 3, "same": 3}))
        job, sink = numbers({})
    assert sorted(sink.iterator(job)) == list(range(50))
    assert requests[0].error is None
    assert {n.uid: n.parallelism for n in job.coordinator.job.graph.nodes}["source"] == 3
