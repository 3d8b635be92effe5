"""A committed or failed epoch is run again with its exact input and state, also from a copy of the folder."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import CheckpointError, JobCancelledError, JobExecutionError
from penstock.connectors.collect import CollectSink
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import coordinator
from penstock.runtime.replay import Replay, replay
from tests.runtime.in_process import start

NUMBERS = list(range(30))


class Total(KeyedProcessFunction):
    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        if value == self.fails_at:
            raise ArithmeticError(f"{value} is too much")
        self.total.update((self.total.value() or 0) + value)
        yield self.total.value()


def run(folder: pathlib.Path, fails_at: int | None = None, stop_at: int = 8, **settings: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = env.from_collection(NUMBERS, Types.LONG())
    totals = (
        stream.key_by(lambda v: v % 3, key_type=Types.LONG())
        .process(Total(fails_at), Types.LONG())
        .uid("total")
    )
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (totals._transformation,), parallelism=1, sink=sink, uid="end")
    jobs: list[Any] = []

    def stop(plan: Any, partition: int) -> None:
        while not jobs:
            pass
        if plan.epoch == stop_at:
            jobs[0].coordinator._cancelled = True
            raise OSError("enough")

    chosen = {
        "execution.epoch.max-records": "3",
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(folder),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "none",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    jobs.append(start([end], chosen, stop))
    with pytest.raises((JobCancelledError, JobExecutionError)):
        jobs[0].wait(60)


@pytest.fixture(autouse=True)
def all_checkpoints_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "RETAIN_EVERY_EPOCHS", 100)


def went_in(found: Replay, uid: str = "total") -> list[int]:
    return [seen.value for seen in found.operators[uid].inputs]


def test_a_committed_epoch_is_run_again(tmp_path: pathlib.Path) -> None:
    run(tmp_path)
    found = replay(str(tmp_path), 4)
    assert sorted(went_in(found)) == [9, 10, 11]
    assert sorted(seen.value for seen in found.operators["total"].outputs) == [0 + 3 + 6 + 9, 22, 26]
    assert sorted(went_in(found, "end")) == [18, 22, 26]
    assert found.error is None and found.changes is not None
    (total,) = [op for op in found.changes.operators if op.uid == "total"]
    (state,) = [s for s in total.states if s.name == "total"]
    assert (state.changed, state.added, state.removed) == (3, 0, 0)
    assert {(e["before"], e["after"]) for e in state.examples} == {("9", "18"), ("12", "22"), ("15", "26")}


def test_the_first_epoch_is_run_again_without_any_state(tmp_path: pathlib.Path) -> None:
    run(tmp_path)
    assert sorted(went_in(replay(str(tmp_path), 1))) == [0, 1, 2]


def test_the_last_failed_epoch_is_run_again_and_fails_again(tmp_path: pathlib.Path) -> None:
    run(tmp_path, fails_at=16)
    found = replay(str(tmp_path))
    assert found.epoch == 6 and "16 is too much" in found.failed
    assert (
        isinstance(found.error.__cause__, ArithmeticError) and found.error.__cause__.__traceback__ is not None
    )  # type: ignore[union-attr]
    assert 16 in went_in(found)


def test_a_copy_of_the_folder_will_do_and_nothing_in_it_changes(tmp_path: pathlib.Path) -> None:
    run(tmp_path / "there")
    copy = shutil.copytree(tmp_path / "there", tmp_path / "here")
    shutil.rmtree(tmp_path / "there")
    before = sorted(copy.rglob("*"))
    assert sorted(went_in(replay(str(copy), 5))) == [12, 13, 14]
    assert sorted(copy.rglob("*")) == before


def test_epochs_between_two_checkpoints_are_run_again_from_the_one_before(tmp_path: pathlib.Path) -> None:
    run(tmp_path, fails_at=16, execution_checkpointing_interval="1 h")
    assert not list(tmp_path.glob("*/chk-*"))
    found = replay(str(tmp_path))
    assert found.epoch == 6 and 16 in went_in(found)


def test_an_epoch_that_is_not_kept_any_more_is_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path)
    (old,) = tmp_path.glob("*/chk-2")
    shutil.rmtree(old)
    (old,) = tmp_path.glob("*/chk-1")
    shutil.rmtree(old)
    with pytest.raises(CheckpointError, match="epoch 2 cannot be run again"):
        replay(str(tmp_path), 2)
    with pytest.raises(CheckpointError, match="no job to replay here"):
        replay(str(tmp_path / "nowhere"), 2)
    with pytest.raises(CheckpointError, match="no epoch of this job has failed"):
        replay(str(tmp_path))


def test_an_epoch_that_the_job_has_not_got_to_is_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path, fails_at=16)
    for wanted in (99, 7, 0):
        with pytest.raises(
            CheckpointError, match=f"there is no epoch {wanted}: the job got to epoch 6"
        ) as caught:
            replay(str(tmp_path), wanted)
        assert "num-retained" not in str(caught.value)
    (kept,) = tmp_path.glob("*/_failed_epoch")
    kept.unlink()
    with pytest.raises(CheckpointError, match="there is no epoch 6: the job got to epoch 5"):
        replay(str(tmp_path), 6)


def test_a_job_without_any_epoch_says_so(tmp_path: pathlib.Path) -> None:
    run(tmp_path, stop_at=1)
    for kept in tmp_path.glob("*/_failed_epoch"):
        kept.unlink()
    with pytest.raises(CheckpointError, match="there is no epoch 1: the job has not finished any"):
        replay(str(tmp_path), 1)
