"""A job that captures a table is killed with SIGKILL while another process changes the table.

The table's copy is equal to it in the end, and so are counts and sums that the job keeps: no change was lost or seen
twice, neither during the snapshot nor afterwards. `make chaos` makes 50,000 changes.

The copy is written exactly once. At least once would not do: a row that was written in an epoch that failed, and was
deleted before its chunk is read again, is in no later epoch, not even as a deletion.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Any

import pytest
from processes import KILLS, SEED, epochs_done, log_of, start, stop, wait_for, wait_for_result, workers

from tests.connectors.cdc.captures import System, stored
from tests.connectors.cdc.random_changes import RandomChanges

MANY = KILLS > 5
TIMES = KILLS if MANY else 2
CHANGES_PER_KILL = 50_000 // KILLS if MANY else 1000
ROWS, KEYS = 4000, 8000
RECORDS_PER_EPOCH = 500
JOB = pathlib.Path(__file__).with_name("cdc_job.py")
CHANGES = pathlib.Path(__file__).parents[1] / "connectors" / "cdc" / "random_changes.py"

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(900 + 90 * KILLS)]


@pytest.fixture(params=["postgres", "mariadb"])
def system(request: pytest.FixtureRequest) -> System:
    return System(request.getfixturevalue(request.param))


class OtherProcess:
    """Changes the table; `make` begins with some changes when those before are made."""

    def __init__(self, system: System, table: str) -> None:
        arguments = (system.server.scheme, system.server.port, table, SEED, KEYS, ROWS)
        self._process = subprocess.Popen(
            [sys.executable, str(CHANGES), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._asked = 0

    def make(self, changes: int) -> None:
        self.wait()
        assert self._process.stdin is not None
        self._process.stdin.write(f"{changes}\n")
        self._process.stdin.flush()
        self._asked += 1

    def wait(self) -> None:
        while self._asked:
            assert self._process.stdout is not None
            assert self._process.stdout.readline().startswith("made"), "the other process died"
            self._asked -= 1

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def prepare(system: System, folder: pathlib.Path) -> tuple[str, Any]:
    """The table with its first rows, and how the job is started."""
    table = system.create(name=f"shop_{system.server.scheme}")
    system.insert(table, RandomChanges(table, KEYS, SEED).rows(ROWS))
    system.create(name=f"{table}_copy")
    system.server.execute(
        f"CREATE TABLE {table}_copy_counted (name VARCHAR(20) PRIMARY KEY, n BIGINT, total DECIMAL(38, 2))"
    )
    server = system.server
    options = system.options(table, scan_incremental_snapshot_chunk_size="100")
    sink = {
        "connector": "jdbc",
        "url": f"{server.base_url}/{server.database}",
        "username": server.user,
        "password": server.password,
        "table-name": f"{table}_copy",
        "sink.delivery-guarantee": "exactly-once",
    }
    arguments = (json.dumps(options), json.dumps(sink), folder / "chk", RECORDS_PER_EPOCH)
    return table, partial(start, folder, JOB, *arguments)


def results(system: System, table: str) -> tuple[list[Any], list[Any]]:
    counted = system.server.execute(f"SELECT name, n, total FROM {table}_copy_counted")
    return stored(system, f"{table}_copy"), sorted(map(tuple, counted), key=repr)


def expected(system: System, table: str) -> tuple[list[Any], list[Any]]:
    counted = system.server.execute(f"SELECT name, COUNT(*), SUM(price) FROM {table} GROUP BY name")
    return stored(system, table), sorted(map(tuple, counted), key=repr)


def difference(found: list[Any], wanted: list[Any]) -> tuple[list[Any], list[Any]]:
    """The rows that are too many, and those that are missing."""
    return [row for row in found if row not in wanted], [row for row in wanted if row not in found]


def test_a_captured_table_is_copied_exactly_when_workers_and_drivers_are_killed(
    system: System, tmp_path: pathlib.Path
) -> None:
    table, begin = prepare(system, tmp_path)
    dice = random.Random(SEED)
    other = OtherProcess(system, table)
    job = begin()
    try:
        for kill in range(TIMES):
            before = epochs_done(tmp_path)
            going = wait_for(
                lambda b=before, j=job: epochs_done(tmp_path) > b and bool(workers(j.pid)), job, tmp_path
            )
            assert going, f"the job ended after {kill} kills\n{log_of(tmp_path)}"
            other.make(CHANGES_PER_KILL)
            time.sleep(dice.uniform(0, 0.6))
            victims = workers(job.pid)
            if kill % 3 == 1 or not victims:
                stop(job)
                job = begin()
            else:
                os.kill(dice.choice(victims), signal.SIGKILL)
        other.wait()
        wanted = expected(system, table)
        wait_for_result(wanted, lambda: results(system, table), job, tmp_path)
        for found, there in zip(results(system, table), wanted, strict=True):
            assert difference(found, there) == ([], []), log_of(tmp_path)
    finally:
        other.end()
        stop(job)
