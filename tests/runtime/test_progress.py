"""What the driver plans for a subtask after a restore is what `checkpoint/resolve.py` decided, nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common import Types, WatermarkStrategy
from penstock.common.configuration import Configuration
from penstock.common.errors import StateMigrationError
from penstock.common.key_groups import key_group_range
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.graph.stages import plan_stages
from penstock.graph.stream_graph import GraphSettings, StreamGraph, build_stream_graph
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import submit
from penstock.runtime.plan import JobDefinition, NodePlan, SnapshotSettings
from penstock.runtime.progress import is_written_beside, wants_snapshot
from penstock.runtime.restoring import RestorePoint, plan_restore, restored_progress


def program(parallelism: int) -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda i: i, 10, None, Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "n", Types.LONG()).uid("source")
    stream = stream.set_parallelism(parallelism)
    counts = stream.key_by(lambda v: v % 5, key_type=Types.LONG()).map(lambda v: v).uid("counts")
    counts = counts.set_parallelism(parallelism)
    end = SinkTransformation(
        "end", (counts._transformation,), parallelism=1, uid="end", sink=CollectSink(Types.LONG())
    )
    return build_stream_graph([end], GraphSettings())


def checkpoint(parallelism: int) -> CheckpointMetadata:
    keyed, plain = [], []
    for i in range(parallelism):
        groups = key_group_range(i, 128, parallelism)
        handle = KeyedStateHandle(
            7, groups[0], groups[-1], None, (FileRef(f"/chk/job/shared/d{i}", 1, "00"),)
        )
        keyed.append(OperatorSubtaskState(handle, b"o%d" % i, None, b"r%d" % i))
        plain.append(OperatorSubtaskState(None, None, None, b"s%d" % i))
    operators = {
        "counts": OperatorCheckpoint("counts", "Count", parallelism, 128, tuple(keyed)),
        "source": OperatorCheckpoint("source", "Source", parallelism, 128, tuple(plain)),
    }
    sources = {"source": SourceCheckpoint("source", None, {"s0": ("split", 3, False, 0)})}
    return CheckpointMetadata(7, "job", "name", 0, operators, sources)


def definition(graph: StreamGraph, job_id: str = "job") -> JobDefinition:
    storage = CheckpointStorage("/chk", job_id)
    return JobDefinition(job_id, "name", graph, plan_stages(graph), {}, {}, False, "memory", storage, "")


@pytest.mark.parametrize("before", [1, 2, 3])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_the_epoch_after_a_restore_follows_the_restore_plan(before: int, after: int) -> None:
    graph, metadata = program(after), checkpoint(before)
    decided = plan_restore(graph, metadata, allow_non_restored=False)
    progress = restored_progress(graph, metadata, decided)
    job = definition(graph)
    for node in graph.nodes:
        stage = job.stages.stage_of[node.id]
        for subtask in range(node.parallelism):
            planned: NodePlan = progress.subtask_plan(job, stage, subtask, {}).nodes[node.id]
            restore = decided.operators[node.uid][subtask]
            assert (planned.states, planned.operator_states) == (restore.states, restore.operator_states)
            if node.is_keyed:
                assert planned.keyed is not None and planned.keyed.handles == restore.keyed
                # Files of other key-group ranges are replaced by a snapshot of the subtask's own.
                assert planned.keyed.take_snapshot == (before != after)


@pytest.mark.parametrize("claimed", [True, False])
def test_a_job_that_does_not_own_the_files_it_started_from_writes_its_own(claimed: bool) -> None:
    graph, metadata = program(2), checkpoint(2)
    decided = plan_restore(graph, metadata, allow_non_restored=False)
    progress, job = restored_progress(graph, metadata, decided, claimed), definition(graph, "another")
    (keyed,) = (node for node in graph.nodes if node.is_keyed)
    plan = progress.subtask_plan(job, job.stages.stage_of[keyed.id], 0, {}).nodes[keyed.id].keyed
    assert plan is not None and plan.take_snapshot == (not claimed)


def test_a_restore_that_is_refused_publishes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[Any] = []
    metadata = checkpoint(1)
    metadata.operators["gone"] = OperatorCheckpoint(
        "gone", "Gone", 1, 128, (OperatorSubtaskState(None, b"state"),)
    )
    monkeypatch.setattr(submit, "find_restore_point", lambda *_: RestorePoint(metadata))
    monkeypatch.setattr(submit, "publish_commits", lambda *_, **__: published.append(1))
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = SinkTransformation(
        "end", (env.from_collection([1])._transformation,), parallelism=1, sink=CollectSink(Types.LONG())
    )
    with pytest.raises(StateMigrationError, match="gone"):
        submit.submit_job([sink], Configuration(), "job")
    assert published == []


MB = 1 << 20


@pytest.mark.parametrize(
    ("snapshot_bytes", "deltas", "delta_bytes", "wanted"),
    [
        (0, 63, 1000, False),
        (0, 64, 1000, True),  # few bytes: writing them again costs nothing
        (0, 1, 9 * MB, True),
        (100 * MB, 64, 1000, False),  # 100 MB are not written again for 64 kB
        (100 * MB, 64, MB // 4, True),  # an eighth of it has changed
        (100 * MB, 3, 40 * MB, True),
        (100 * MB, 511, 1000, False),
        (100 * MB, 512, 1000, True),  # a restore has to read so many files
    ],
)
def test_a_snapshot_is_taken_when_it_is_worth_it(
    snapshot_bytes: int, deltas: int, delta_bytes: int, wanted: bool
) -> None:
    snapshot = FileRef("s", snapshot_bytes, "00") if snapshot_bytes else None
    added = tuple(FileRef(f"d{i}", delta_bytes, "00") for i in range(deltas))
    assert wants_snapshot(KeyedStateHandle(7, 0, 127, snapshot, added), SnapshotSettings()) is wanted


@pytest.mark.parametrize(
    ("snapshot_mb", "deltas", "delta_mb", "beside"),
    [
        (0, 10, 1, False),  # written in the epoch quickly enough
        (0, 40, 1, True),
        (100, 60, 2, True),
        (100, 300, 1, True),
        (100, 401, 1, False),  # the process does not keep up
        (100, 2048, 0, False),
    ],
)
def test_a_large_state_is_written_beside_the_epochs_unless_that_takes_too_long(
    snapshot_mb: int, deltas: int, delta_mb: int, beside: bool
) -> None:
    snapshot = FileRef("s", snapshot_mb << 20, "00") if snapshot_mb else None
    added = tuple(FileRef(f"d{i}", delta_mb << 20, "00") for i in range(deltas))
    handle = KeyedStateHandle(7, 0, 127, snapshot, added)
    assert is_written_beside(handle, SnapshotSettings()) is beside
    assert wants_snapshot(handle, SnapshotSettings())
