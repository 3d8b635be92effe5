"""A checkpoint interval longer than an epoch: output gathers, and becomes visible with the next checkpoint."""

from __future__ import annotations

import logging
import pathlib
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.common import Encoder, Types
from penstock.connectors.collect import CollectSink
from penstock.connectors.print import PrintSink
from penstock.connectors.sink import Committer
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import coordinator
from penstock.runtime.in_process import forget
from tests.runtime.in_process import Count, collect, start

NUMBERS = list(range(40))
SETTINGS = {
    "execution.epoch.max-records": "2",
    "execution.runtime-mode": "STREAMING",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10",
    "restart-strategy.fixed-delay.delay": "1 ms",
}
HOUR = {"execution.checkpointing.interval": "1 h"}


def counts() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection(NUMBERS, Types.LONG())
    return stream.key_by(lambda v: v % 2, key_type=Types.LONG()).process(Count(), Types.LONG())


EXPECTED = sorted(list(range(1, 21)) * 2)


def into_files(folder: pathlib.Path, interfere: Any, settings: dict[str, str]) -> Any:
    text = counts().map(lambda n: str(n), Types.STRING())
    sink = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    made = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
    end = SinkTransformation("files", (text._transformation,), parallelism=1, sink=made)
    return start([end], {**SETTINGS, **settings}, interfere)


def visible(folder: pathlib.Path) -> list[int]:
    files = [p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")]
    return sorted(int(line) for p in files for line in p.read_text().splitlines())


def test_nothing_is_visible_and_no_metadata_is_written_before_the_checkpoint(tmp_path: pathlib.Path) -> None:
    seen: list[tuple[int, int]] = []

    def look(plan: Any, partition: int) -> None:
        seen.append((len(visible(tmp_path / "out")), len(list((tmp_path / "chk").glob("*/chk-*")))))

    chosen = {**HOUR, "execution.checkpointing.dir": str(tmp_path / "chk")}
    into_files(tmp_path / "out", look, chosen).wait(60)
    assert set(seen) == {(0, 0)} and len(seen) > 20
    assert visible(tmp_path / "out") == EXPECTED


def test_what_is_printed_waits_for_no_checkpoint(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[int] = []

    def look(plan: Any, partition: int) -> None:
        printed.append(len(capsys.readouterr().out.splitlines()))

    end = SinkTransformation("print", (counts()._transformation,), parallelism=1, sink=PrintSink())
    chosen = {**SETTINGS, **HOUR, "execution.checkpointing.dir": str(tmp_path / "chk")}
    start([end], chosen, look).wait(60)
    printed.append(len(capsys.readouterr().out.splitlines()))
    assert sum(printed) == len(NUMBERS) and max(printed) <= 4


def test_epochs_since_the_last_checkpoint_are_replayed_when_the_driver_is_lost(
    tmp_path: pathlib.Path,
) -> None:
    """A savepoint request makes a checkpoint at epoch 5; at epoch 9 the driver is gone."""
    jobs: list[Any] = []
    chosen = {
        **HOUR,
        "execution.checkpointing.dir": str(tmp_path / "chk"),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }

    def lose(plan: Any, partition: int) -> None:
        while not jobs:
            pass
        if plan.epoch == 5 and plan.level == 0:
            jobs[0].coordinator.between_epochs(lambda: None)
        if plan.epoch == 9:
            jobs[0].coordinator._cancelled = True
            raise OSError("the driver is lost")

    jobs.append(into_files(tmp_path / "out", lose, chosen))
    with pytest.raises(Exception, match="cancelled"):
        jobs[0].wait(60)
    assert len(visible(tmp_path / "out")) == 10
    (checkpoint,) = (tmp_path / "chk").glob("*/chk-5")
    forget()
    goes_on = {**chosen, "execution.state-recovery.path": str(checkpoint)}
    into_files(tmp_path / "out", None, goes_on).wait(60)
    assert visible(tmp_path / "out") == EXPECTED


def test_an_epoch_that_fails_goes_on_from_the_one_before_not_from_the_checkpoint(
    tmp_path: pathlib.Path,
) -> None:
    epochs: list[int] = []

    def fail(plan: Any, partition: int) -> None:
        epochs.append(plan.epoch)
        if epochs.count(7) == 1 and plan.epoch == 7:
            forget()
            raise OSError("the worker was lost")

    chosen = {**SETTINGS, **HOUR, "execution.checkpointing.dir": str(tmp_path / "chk")}
    assert sorted(collect(counts(), chosen, fail)) == EXPECTED
    assert epochs == sorted(epochs)


def test_output_that_could_not_be_published_is_published_once(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, failures = coordinator.publish_commits, [1, 2]

    def half(metadata: Any, committers: Any, attempts: int) -> None:
        publish(metadata, committers, attempts)
        if failures:
            failures.pop()
            raise OSError("the disk is away")

    monkeypatch.setattr(coordinator, "publish_commits", half)
    chosen = {**SETTINGS, **HOUR, "execution.checkpointing.dir": str(tmp_path / "chk")}
    assert sorted(collect(counts(), chosen)) == EXPECTED
    assert not failures


def test_a_job_with_a_sink_that_publishes_epoch_by_epoch_says_so(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    class OneByOne(Committer):
        def commit(self, committables: Sequence[Any]) -> None:
            return None

    class Sink(CollectSink):
        def create_committer(self) -> Committer:
            return OneByOne()

    end = SinkTransformation("one", (counts()._transformation,), parallelism=1, sink=Sink(Types.LONG()))
    checkpoints: list[int] = []

    def look(plan: Any, partition: int) -> None:
        checkpoints.append(len(list(tmp_path.glob("*/chk-*/_metadata"))))

    with caplog.at_level(logging.WARNING):
        start([end], {**SETTINGS, **HOUR, "execution.checkpointing.dir": str(tmp_path)}, look).wait(60)
    assert "execution.checkpointing.interval has no effect" in caplog.text and "OneByOne" in caplog.text
    assert max(checkpoints) > 5
