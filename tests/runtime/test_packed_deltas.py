"""A job of many epochs names few files and keeps few, and goes on from packed ones when a worker is lost."""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

import pytest

from penstock.checkpoint.packing import KEPT_DELTAS, PACK_DELTAS
from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime.in_process import forget
from tests.runtime.in_process import Count, collect

NUMBERS = list(range(120))


@pytest.mark.parametrize("directory", [True, False], ids=["checkpoint folder", "temporary folder"])
def test_neither_plans_nor_files_grow_with_the_age_of_the_job(
    directory: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection(NUMBERS, Types.LONG())
    counts = stream.key_by(lambda v: v % 3, key_type=Types.LONG()).process(Count(), Types.LONG())
    named: list[int] = []
    files: list[int] = []
    losses = [40, 90]

    def watch(plan: Any, partition: int) -> None:
        handles = [h for s in plan.subtasks for n in s.nodes.values() if n.keyed for h in n.keyed.handles]
        named.extend(len(handle.deltas) for handle in handles)
        files.append(len(list(tmp_path.rglob("*.delta"))))
        if plan.epoch in losses:
            losses.remove(plan.epoch)
            forget()  # the state is read again, from what was packed
            raise OSError("the worker was lost")

    settings = {
        "execution.epoch.max-records": "1",
        "execution.runtime-mode": "STREAMING",
        **({"execution.checkpointing.dir": str(tmp_path / "checkpoints")} if directory else {}),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    assert sorted(collect(counts, settings, watch)) == sorted(list(range(1, 41)) * 3)
    assert not losses
    few = 3 * (PACK_DELTAS + KEPT_DELTAS)
    assert max(named) < few, named
    assert 0 < max(files) < few, files
    assert not list(tmp_path.rglob("*.delta"))  # an ended job leaves nothing
