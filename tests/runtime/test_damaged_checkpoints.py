"""A job whose newest checkpoint is damaged goes on from the one before if nobody can tell, else says what to do."""

from __future__ import annotations

import logging
import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from penstock.common.errors import DamagedStateError
from penstock.connectors.print.sink import PrintSink
from penstock.connectors.source import SplitEnumerator
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import coordinator
from penstock.runtime.restoring import what_is_against_going_back
from penstock.testing.sink import CollectingSink
from tests.runtime.in_process import collect, start
from tests.runtime.test_restarts import SETTINGS, counts

WAYS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-3],
    "flipped": lambda data: data[:9] + bytes([data[9] ^ 4]) + data[10:],
    "empty": lambda data: b"",
}


@pytest.fixture
def left_behind(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pathlib.Path]:
    """The checkpoint folder of a driver that died when four epochs were committed."""
    monkeypatch.setattr(coordinator, "RETAIN_EVERY_EPOCHS", 100)

    def run(run_job: Callable[[dict[str, str], Any], Any]) -> pathlib.Path:
        def keep(plan: Any, partition: int) -> None:
            if plan.epoch == 5 and plan.level == 0:
                shutil.copytree(tmp_path / "running", tmp_path / "left", dirs_exist_ok=True)

        run_job({**SETTINGS, "execution.checkpointing.dir": str(tmp_path / "running")}, keep)
        return tmp_path / "left"

    return run


def damage(folder: pathlib.Path, epoch: int, way: str) -> None:
    """Both files of a checkpoint's metadata."""
    files = [p for p in folder.glob(f"*/chk-{epoch}/*") if p.is_file()]
    assert len(files) == 2
    for path in files:
        path.write_bytes(WAYS[way](path.read_bytes()))


def relocate(folder: pathlib.Path) -> None:
    """What was copied names files of the first folder, which are gone with the job."""
    shutil.rmtree(folder.parent / "running", ignore_errors=True)
    shutil.move(folder, folder.parent / "running")


@pytest.mark.parametrize("way", WAYS)
def test_the_checkpoint_before_is_gone_on_from_where_sinks_and_sources_can_repeat_an_epoch(
    way: str, left_behind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = left_behind(lambda settings, keep: collect(counts(), settings, keep))
    relocate(folder)
    running = folder.parent / "running"
    damage(running, 4, way)
    with caplog.at_level(logging.WARNING, "penstock.runtime.restoring"):
        got = collect(counts(), {**SETTINGS, "execution.checkpointing.dir": str(running)})
    # Epoch 3 is published once more to this new program, then every element is counted exactly once.
    assert sorted(got) == sorted([3, 4, 5, 6] * 2)
    (told,) = caplog.messages
    assert "newest checkpoint is damaged; the job goes on from the checkpoint before, 3" in told


def test_two_damaged_checkpoints_are_passed_over_too(left_behind: Any) -> None:
    folder = left_behind(lambda settings, keep: collect(counts(), settings, keep))
    relocate(folder)
    running = folder.parent / "running"
    damage(running, 4, "cut")
    for delta in running.glob("*/shared/**/00000003-*"):
        delta.write_bytes(b"")  # its state is not whole
    got = collect(counts(), {**SETTINGS, "execution.checkpointing.dir": str(running)})
    assert sorted(got) == sorted([2, 3, 4, 5, 6] * 2)


def test_a_sink_that_may_have_published_the_epoch_is_not_set_back(
    left_behind: Any, tmp_path: pathlib.Path
) -> None:
    sink = CollectingSink(str(tmp_path / "out"))

    def run(settings: dict[str, str], keep: Any = None) -> None:
        end = SinkTransformation("out", (counts()._transformation,), parallelism=1, sink=sink)
        start([end], settings, keep).wait(60)

    folder = left_behind(run)
    published = sorted(sink.results())
    relocate(folder)
    running = folder.parent / "running"
    damage(running, 4, "cut")
    with pytest.raises(DamagedStateError) as caught:
        run({**SETTINGS, "execution.checkpointing.dir": str(running)})
    assert "/chk-4" in str(caught.value.where)
    assert [f"chk-{n}" for n in (3, 2, 1)] == [
        line.rpartition("/")[2] for line in str(caught.value.do).splitlines() if "/chk-" in line
    ]
    assert caught.value.do is not None and "because sink 'out' (uid " in caught.value.do
    assert "may have published later output" in caught.value.do
    assert sorted(sink.results()) == published


class _Acknowledging(SplitEnumerator):
    def discover(self) -> list[Any]:
        return []

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        raise AssertionError("nobody is told")


class _KeepsAll(_Acknowledging):
    reads_committed_again = True


class _Silent(SplitEnumerator):
    def discover(self) -> list[Any]:
        return []


def test_a_source_that_has_acknowledged_its_input_is_not_set_back() -> None:
    printed: Any = {"print": PrintSink().create_committer()}
    reason = what_is_against_going_back(printed, {"queue": _Acknowledging()})
    assert reason is not None and "source queue has acknowledged later input" in reason
    for harmless in (_KeepsAll(), _Silent()):
        assert what_is_against_going_back(printed, {"log": harmless}) is None
