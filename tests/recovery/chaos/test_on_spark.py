"""Processes of both jobs on Spark are killed and paused, their storage fails, their disk is full: exactly once.

`PENSTOCK_KILLS` says how many faults, 5 for each job in `make recovery`; `make chaos` has more, on a cluster too.
"""

from __future__ import annotations

import pathlib

import pytest
from processes import KILLS, SEED

from chaos.campaign import Tally
from chaos.on_spark import Torment, small_disk

KINDS = [
    "python worker killed",
    "driver killed",
    "killed at a point of a task",
    "disk full",
    "killed at a point of the driver",
    "python worker paused",
    "exception at a point",
    "JVM paused",
    "storage failing",
    "storage read-only",
    "clock moved",
    "storage slow",
    "driver paused",
]

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(300 + 90 * KILLS)]


@pytest.mark.parametrize(("job", "first"), [("stream", 0), ("sql", 1)])
def test_every_record_is_written_once(job: str, first: int, tmp_path: pathlib.Path) -> None:
    tally, folder = Tally(), tmp_path / "job"
    with small_disk(folder):
        Torment(job, folder, SEED, tally).run(KILLS, KINDS[first:] + KINDS[:first])
    assert tally.clean and tally.faults == KILLS, tally.table()
