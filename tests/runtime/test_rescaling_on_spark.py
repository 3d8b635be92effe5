"""Reactive mode and rescaling with tasks on Spark; `test_rescaling.py` has the details, without it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.spark.session import get_spark
from penstock.runtime.submit import submit_job
from tests.runtime.test_packed_deltas import Count

NUMBERS, KEYS = 600, 7


@pytest.mark.spark
def test_a_reactive_job_has_as_many_subtasks_as_spark_has_cores_and_is_rescaled() -> None:
    cores = get_spark({}).sparkContext.defaultParallelism
    configuration = Configuration()
    for key, value in {
        "scheduler-mode": "reactive",
        "parallelism.default": str(cores + 2),
        "execution.runtime-mode": "STREAMING",
        "execution.epoch.max-records": "50",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    keyed = (
        env.from_sequence(0, NUMBERS - 1).set_parallelism(1).key_by(lambda v: v % KEYS, key_type=Types.LONG())
    )
    counts = keyed.process(Count(), Types.LONG())
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (counts._transformation,), parallelism=1, sink=sink)
    job = submit_job([end], configuration, "reactive")
    rows: list[Any] = []
    seen: list[int] = []
    for count in sink.iterator(job):
        parallelism = max(node.parallelism for node in job.coordinator.job.graph.nodes)
        if parallelism not in seen[-1:]:
            seen.append(parallelism)
        if not rows:
            job.rescale(cores + 1)
        rows.append(count)
    assert seen == [cores, cores + 1]
    expected = Counter(n for key in range(KEYS) for n in range(1, len(range(key, NUMBERS, KEYS)) + 1))
    assert Counter(rows) == expected and job.statistics.restarts == 0
