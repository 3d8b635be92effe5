"""Large keyed state is written anew beside the epochs, whatever becomes of the process that does it."""

from __future__ import annotations

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common import Types
from penstock.common.errors import ExternalSystemError
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import compaction, progress
from penstock.runtime.in_process import forget
from penstock.state.chain import EMPTY
from penstock.state.compaction import Compaction
from penstock.state.keyed import StoredKeyedBackend
from tests.runtime.in_process import Count, collect, start

LONGEST_S = 60
KEYS = 3


class Watched:
    """A job whose state counts as large; what became of it is noted as its epochs begin."""

    def __init__(self, tmp_path: pathlib.Path, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(progress, "SNAPSHOT_DELTAS", 6)
        patch.setattr(progress, "BACKGROUND_OVERDUE", 1000)
        self.folder = tmp_path / "checkpoints"
        self.written_beside: list[FileRef] = []
        self.written_in_epochs = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        take, popen = StoredKeyedBackend._take_snapshot, subprocess.Popen

        def taken(backend: Any, epoch: Any) -> FileRef:
            self.written_in_epochs += 1
            return take(backend, epoch)

        def started(*arguments: Any, **options: Any) -> Any:
            assert all(former.poll() is not None for former in self.processes)  # one at a time
            process = popen(*arguments, **options)
            self.processes.append(process)
            return process

        patch.setattr(StoredKeyedBackend, "_take_snapshot", taken)
        patch.setattr(compaction.subprocess, "Popen", started)
        self.settings = {
            "execution.epoch.max-records": "1",
            "execution.runtime-mode": "STREAMING",
            "execution.checkpointing.dir": str(self.folder),
            "penstock.snapshot.background-size": "1 b",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "1 ms",
        }

    def look(self, plan: Any) -> None:
        """Notes the snapshots that an epoch begins with."""
        for handle in (
            h for s in plan.subtasks for n in s.nodes.values() if n.keyed for h in n.keyed.handles
        ):
            if (
                handle.snapshot
                and handle.snapshot.since == EMPTY
                and handle.snapshot not in self.written_beside
            ):
                self.written_beside.append(handle.snapshot)

    def stream(self, numbers: int, parallelism: int = 1) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = env.from_collection(list(range(numbers)), Types.LONG())
        return stream.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(Count(), Types.LONG())

    def left(self) -> list[str]:
        """State files and parts of some."""
        return [
            path.name for path in self.folder.rglob("*") if path.suffix in (".snapshot", ".delta", ".tmp")
        ]


@pytest.fixture
def watched(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(tmp_path, monkeypatch)


def counts(numbers: int) -> list[int]:
    return sorted(list(range(1, numbers // KEYS + 1)) * KEYS)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_epoch_writes_the_state_and_lost_workers_restore_from_what_was_written_beside(
    watched: Watched,
) -> None:
    lost: list[int] = []

    def interfere(plan: Any, partition: int) -> None:
        watched.look(plan)
        if plan.epoch % 10 == 0 and len(watched.written_beside) < 3:
            # Epochs of this job take a millisecond, the process some hundred: it gets the time.
            until(lambda: not watched.processes or watched.processes[-1].poll() is not None)
        if len(watched.written_beside) == len(lost) + 2:
            lost.append(plan.epoch)
            forget()
            raise ExternalSystemError("the worker was lost")

    assert sorted(collect(watched.stream(120, 2), watched.settings, interfere)) == counts(120)
    assert len(watched.written_beside) >= 3
    assert lost
    assert watched.written_in_epochs == 0
    assert all(process.wait(LONGEST_S) is not None for process in watched.processes)
    assert not watched.left()


def test_if_it_cannot_be_written_beside_the_epochs_one_of_them_writes_it(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    damaged: list[int] = []
    lost: list[int] = []

    def interfere(plan: Any, partition: int) -> None:
        if plan.epoch == 5:
            oldest = min(watched.folder.rglob("*.delta"))
            oldest.write_bytes(oldest.read_bytes()[:-1])
            damaged.append(plan.epoch)
        if plan.epoch >= 8 and not watched.written_in_epochs and watched.processes:
            until(lambda: watched.processes[-1].poll() is not None)
        if watched.written_in_epochs and not lost:
            lost.append(plan.epoch)
            if plan.epoch > 12:  # the snapshot is committed: without the damaged file nothing is missing
                forget()
                raise ExternalSystemError("the worker was lost")
            lost.clear()

    assert sorted(collect(watched.stream(60), watched.settings, interfere)) == counts(60)
    assert damaged and lost
    assert watched.written_in_epochs >= 1
    assert "could not be beside them" in caplog.text
    assert "damaged" in caplog.text or "size" in caplog.text


def test_a_process_that_cannot_be_started_costs_an_epoch_with_a_snapshot(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(compaction.subprocess, "Popen", full)
    assert sorted(collect(watched.stream(60), watched.settings)) == counts(60)
    assert watched.written_in_epochs >= 2
    assert not watched.written_beside
    assert "no more processes" in caplog.text
    assert not watched.left()


def test_a_cancelled_job_ends_the_process_and_leaves_no_part_of_a_file(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_END_S", 0.5)
    from penstock.connectors.collect import CollectSink
    from penstock.graph.transformations import SinkTransformation

    def interfere(plan: Any, partition: int) -> None:
        time.sleep(0.005)
        if watched.processes:
            os.kill(watched.processes[0].pid, signal.SIGSTOP)

    transformation = watched.stream(3000)._transformation
    sink = CollectSink(transformation.output_type)
    end = SinkTransformation("collect", (transformation,), parallelism=1, sink=sink)
    job = start([end], watched.settings, interfere)
    until(lambda: bool(watched.processes))
    job.cancel()
    until(lambda: watched.processes[0].poll() is not None)
    assert len(watched.processes) == 1
    assert not [name for name in watched.left() if name.endswith((".tmp", ".snapshot"))]


def test_the_process_ends_when_its_worker_is_gone(tmp_path: pathlib.Path) -> None:
    storage = CheckpointStorage(str(tmp_path), "job")
    wanted = Compaction((), (0, 127), 1, "shared/op-0/00000001-a.snapshot", {})
    answers = []
    for parent in (os.getpid(), 1 << 30):
        task = pickle.dumps((parent, storage, wanted))
        done = subprocess.run([sys.executable, "-m", compaction.__name__], input=task, stdout=subprocess.PIPE)
        answers.append((done.returncode, bool(done.stdout)))
    assert answers == [(0, True), (1, False)]
