"""Processes are killed with SIGKILL in the middle of epochs; the FileSink's output is exactly once.

`KILLS` says how often: 3 in `make test`, 50 in `make chaos`. When a kill comes is random, but seeded.
"""

from __future__ import annotations

import pathlib
from collections import defaultdict
from functools import partial

import pytest
from processes import KILLS, Start, lines, run_killing_drivers, run_killing_workers, start

NUMBERS = 4_000 * KILLS
RECORDS_PER_EPOCH = 400
JOB = pathlib.Path(__file__).with_name("job.py")

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(180 + 60 * KILLS)]


def program(folder: pathlib.Path) -> Start:
    return partial(start, folder, JOB, folder / "out", folder / "chk", NUMBERS, RECORDS_PER_EPOCH)


def check_output(folder: pathlib.Path) -> None:
    """Every number once, and every count of every key once and in order."""
    rows = [tuple(map(int, line.split(","))) for line in lines(folder / "out")]
    assert sorted(number for _, number, _ in rows) == list(range(NUMBERS))
    by_key = defaultdict(list)
    for key, _, count in rows:
        by_key[key].append(count)
    for key, counts in by_key.items():
        assert sorted(counts) == list(range(1, len(counts) + 1)), f"key {key}"


def test_output_is_exactly_once_when_python_workers_are_killed(tmp_path: pathlib.Path) -> None:
    run_killing_workers(tmp_path, program(tmp_path))
    check_output(tmp_path)


def test_output_is_exactly_once_when_the_driver_is_killed(tmp_path: pathlib.Path) -> None:
    run_killing_drivers(tmp_path, program(tmp_path))
    check_output(tmp_path)
