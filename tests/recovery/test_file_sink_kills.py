"""A job that writes compacted partitions is killed with SIGKILL in the middle of epochs, and started again.

Every row is in the files once, and each partition is marked as complete, those too that were waiting for the
watermark when a driver died.
"""

from __future__ import annotations

import datetime as dt
import pathlib
from functools import partial

import pytest
from processes import KILLS, lines, run_killing_drivers, start

SECONDS_PER_FILE = 120 * KILLS
FILES = 2
RECORDS_PER_EPOCH = 20
JOB = pathlib.Path(__file__).with_name("file_sink_job.py")
BEGIN = dt.datetime(2024, 1, 1)

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(600 + 90 * KILLS)]


def write_events(folder: pathlib.Path) -> list[str]:
    """Files with an event per second, all different; returns the lines of the copies."""
    folder.mkdir()
    copied = []
    for number in range(FILES):
        moments = [BEGIN + dt.timedelta(seconds=second) for second in range(SECONDS_PER_FILE)]
        rows = [(number, n, moment) for n, moment in enumerate(moments)]
        (folder / f"{number}.csv").write_text("".join(f"{k},{v},{moment}\n" for k, v, moment in rows))
        copied += [f'{k},{v},"{moment}"' for k, v, moment in rows]
    return sorted(copied)


def test_rows_come_once_and_partitions_are_marked_when_the_driver_is_killed(tmp_path: pathlib.Path) -> None:
    expected = write_events(tmp_path / "in")
    output = tmp_path / "out"
    begin, last = (
        partial(start, tmp_path, JOB, tmp_path / "in", output, tmp_path / "chk", records)
        for records in (RECORDS_PER_EPOCH, SECONDS_PER_FILE)
    )
    run_killing_drivers(tmp_path, begin, last)
    assert sorted(lines(output)) == expected
    partitions = [path for path in output.iterdir() if path.name.startswith("minute=")]
    assert len(partitions) == SECONDS_PER_FILE // 60
    assert [path.name for path in partitions if not (path / "_SUCCESS").exists()] == []
