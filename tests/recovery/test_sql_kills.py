"""A SQL job is killed with SIGKILL in the middle of epochs; every window is in its files exactly once."""

from __future__ import annotations

import datetime as dt
import pathlib
import random
from collections import defaultdict
from functools import partial

import pytest
from processes import KILLS, Start, lines, run_killing_drivers, run_killing_workers, start

ROWS_PER_FILE = 120 * KILLS
FILES = 2
RECORDS_PER_EPOCH = 20
ALL_RECORDS = 1_000_000
JOB = pathlib.Path(__file__).with_name("sql_job.py")
BEGIN = dt.datetime(2024, 1, 1)

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(600 + 90 * KILLS)]


def write_events(folder: pathlib.Path) -> list[str]:
    """Files with an event per second, in order; returns the lines that the windows should make of them."""
    chance = random.Random(KILLS)
    totals: dict[tuple[dt.datetime, int], list[int]] = defaultdict(lambda: [0, 0])
    folder.mkdir()
    for number in range(FILES):
        with (folder / f"{number}.csv").open("w") as out:
            for second in range(ROWS_PER_FILE):
                key, value, time = (
                    chance.randrange(5),
                    chance.randrange(100),
                    BEGIN + dt.timedelta(seconds=second),
                )
                out.write(f"{key},{value},{time}\n")
                total = totals[BEGIN + dt.timedelta(seconds=second // 10 * 10), key]
                total[0] += 1
                total[1] += value
    return sorted(f'{key},"{starts}",{n},{total}' for (starts, key), (n, total) in totals.items())


def program(folder: pathlib.Path, records_per_epoch: int = RECORDS_PER_EPOCH) -> Start:
    return partial(start, folder, JOB, folder / "in", folder / "out", folder / "chk", records_per_epoch)


def test_every_window_is_written_once_when_python_workers_are_killed(tmp_path: pathlib.Path) -> None:
    expected = write_events(tmp_path / "in")
    run_killing_workers(tmp_path, program(tmp_path))
    assert sorted(lines(tmp_path / "out")) == expected


def test_every_window_is_written_once_when_the_driver_is_killed(tmp_path: pathlib.Path) -> None:
    expected = write_events(tmp_path / "in")
    run_killing_drivers(tmp_path, program(tmp_path), program(tmp_path, ALL_RECORDS))
    assert sorted(lines(tmp_path / "out")) == expected
