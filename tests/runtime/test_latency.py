"""Markers from sources to operators, and the time that calls of state take."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.errors import ValidationError
from penstock.connectors.collect import CollectSink
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.graph.ids import operator_id
from penstock.graph.transformations import SinkTransformation
from penstock.metrics.reporters.prometheus_text import exposition
from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.scope import ScopeFormats
from penstock.rest.views.metrics import job_metrics, vertex_metrics
from penstock.runtime.exchange import one_of
from penstock.runtime.metric_samples import JobMetrics
from penstock.runtime.running_job import RunningJob
from tests.runtime.in_process import start

SETTINGS = {
    "execution.runtime-mode": "STREAMING",
    "execution.epoch.max-records": "20",
    "parallelism.default": "2",
}
ELEMENTS = 400
NUMBERS = operator_id("my.numbers")


class Remember(KeyedProcessFunction):
    """Uses a state of each of three kinds, a map by its brackets too."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last.ones", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.last.add(value)
        self.seen[value] = value
        assert value in self.seen and self.seen[value] == value and value in list(self.seen)
        if self.count.value() == 3:
            self.last.clear()
        yield self.count.value()


def ended_job(**settings: str) -> RunningJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda i: i, ELEMENTS, None, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).uid(
        "my.numbers"
    )
    keyed = numbers.map(lambda v: v, Types.LONG()).uid("same").key_by(lambda v: v % 7, key_type=Types.LONG())
    counts = keyed.process(Remember(), Types.LONG()).uid("remember")
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (counts._transformation,), parallelism=1, sink=sink, uid="end")
    job = start([end], {**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}})
    rows = list(sink.iterator(job))
    job.wait(60)
    assert sorted(rows) == sorted(n for key in range(7) for n in range(1, len(range(key, ELEMENTS, 7)) + 1))
    return job


def prometheus(job: RunningJob) -> str:
    settings = ReporterSettings("p", {}, ScopeFormats.from_settings({}))
    return exposition(JobMetrics(job.statistics)(), settings)


def latencies(job: RunningJob) -> dict[str, int]:
    """How many markers were seen, by name."""
    found = job_metrics(job.statistics)
    return {
        name: value
        for name, value in found.items()
        if name.startswith("latency.") and name.endswith("_count")
    }


def test_markers_reach_every_operator_behind_a_source() -> None:
    job = ended_job(metrics_latency_interval="1 ms")
    found = latencies(job)
    behind = {"same": (0, 1), "remember": (0, 1), "end": (0,)}
    assert set(found) == {
        f"latency.source_id.{NUMBERS}.operator_id.{operator_id(uid)}.operator_subtask_index.{n}.latency_count"
        for uid, subtasks in behind.items()
        for n in subtasks
    }
    sent = sum(found[name] for name in found if f"operator_id.{operator_id('same')}." in name)
    assert sent > 2
    for uid in ("remember", "end"):  # each marker takes one way, and none is lost
        assert sum(count for name, count in found.items() if operator_id(uid) in name) == sent
    values = job_metrics(job.statistics)
    name = f"latency.source_id.{NUMBERS}.operator_id.{operator_id('end')}.operator_subtask_index.0.latency_"
    assert (
        0 <= values[name + "min"] <= values[name + "median"] <= values[name + "p99"] <= values[name + "max"]
    )
    assert not any(
        "latency" in key for key in vertex_metrics(job.statistics, job.statistics.job.stages.stages[-1])
    )


def test_prometheus_has_flinks_name_and_labels_for_them() -> None:
    text = prometheus(ended_job(metrics_latency_interval="1 ms"))
    lines = [line for line in text.splitlines() if line.startswith("flink_taskmanager_job_latency_")]
    name = "flink_taskmanager_job_latency_source_id_operator_id_operator_subtask_index_latency"
    assert lines and all(line.startswith(name) for line in lines)
    end = f'operator_id="{operator_id("end")}"'
    one = next(line for line in lines if end in line and 'quantile="0.5"' in line)
    assert f'source_id="{NUMBERS}"' in one and 'operator_subtask_index="0"' in one
    assert "jobmanager_job_latency" not in text  # told once, with the ids in labels


@pytest.mark.parametrize(
    ("granularity", "groups"),
    [
        ("single", "latency.operator_id"),
        ("subtask", f"latency.source_id.{NUMBERS}.source_subtask_index.1.operator_id"),
    ],
)
def test_sources_are_told_apart_as_far_as_wanted(granularity: str, groups: str) -> None:
    found = latencies(ended_job(metrics_latency_interval="1 ms", metrics_latency_granularity=granularity))
    assert any(name.startswith(groups) for name in found)


def test_nobody_is_measured_unless_asked_for() -> None:
    job = ended_job()
    assert not latencies(job) and "Latency" not in prometheus(job)


def test_a_granularity_that_is_none_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValidationError, match="single, operator, subtask"):
        ended_job(metrics_latency_granularity="finest")


def test_markers_are_dealt_out_over_all_targets() -> None:
    lanes = {target: target for target in (0, 1, 5)}
    assert {one_of(lanes, (1_700_000_000_000 + 1000 * n) << 32) for n in range(50)} == {0, 1, 5}


def test_calls_of_state_have_latencies_under_flinks_names() -> None:
    tracked = {"state.latency-track.keyed-state-enabled": "true", "state.latency-track.sample-interval": "1"}
    job = ended_job(**tracked)
    lines = [line for line in prometheus(job).splitlines() if "Latency_count{" in line]
    named = {
        (
            line.split("{")[0].removeprefix("flink_taskmanager_job_task_operator_state_name_"),
            _label(line, "state_name"),
        ): 0
        for line in lines
    }
    assert set(named) >= {
        ("valueStateGetLatency_count", "count"),
        ("valueStateUpdateLatency_count", "count"),
        ("listStateAddLatency_count", "last_ones"),
        ("listStateClearLatency_count", "last_ones"),
        ("mapStatePutLatency_count", "seen"),
        ("mapStateGetLatency_count", "seen"),
        ("mapStateContainsLatency_count", "seen"),
    }
    updates = [float(line.split()[-1]) for line in lines if "valueStateUpdateLatency" in line]
    assert sum(updates) == ELEMENTS


def test_one_call_in_so_many_is_timed() -> None:
    job = ended_job(**{"state.latency-track.keyed-state-enabled": "true"})
    lines = [line for line in prometheus(job).splitlines() if "valueStateUpdateLatency_count" in line]
    assert 0 < sum(float(line.split()[-1]) for line in lines) < ELEMENTS / 10


def _label(line: str, name: str) -> str:
    return line.split(f'{name}="')[1].split('"')[0]
