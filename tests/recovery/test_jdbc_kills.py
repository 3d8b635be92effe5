"""A job that writes to PostgreSQL exactly once is killed with SIGKILL in the middle of epochs, and started again.

Every row is there once, and the counts in them are those of a job that was never killed.
"""

from __future__ import annotations

import pathlib
from functools import partial

import pytest
from processes import KILLS, Start, run_killing_drivers, run_killing_workers, start

from tests.servers.postgres import PostgresServer

KEYS = 8
NUMBERS = 1600 * KILLS
RECORDS_PER_EPOCH = 200
JOB = pathlib.Path(__file__).with_name("jdbc_job.py")

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(600 + 90 * KILLS)]


def program(
    postgres: PostgresServer,
    folder: pathlib.Path,
    table: str,
    records_per_epoch: int = RECORDS_PER_EPOCH,
) -> Start:
    postgres.execute(f"CREATE TABLE IF NOT EXISTS {table} (k BIGINT, n BIGINT, counted BIGINT)")
    login = (f"{postgres.base_url}/{postgres.database}", postgres.user, postgres.password)
    return partial(start, folder, JOB, *login, table, NUMBERS, folder / "chk", records_per_epoch)


def check_output(postgres: PostgresServer, table: str) -> None:
    found = postgres.execute(
        f"SELECT k, COUNT(*), COUNT(DISTINCT n), SUM(counted) FROM {table} GROUP BY k ORDER BY k"
    )
    each = NUMBERS // KEYS
    assert found == [(k, each, each, each * (each + 1) // 2) for k in range(KEYS)]


def test_rows_are_written_once_when_python_workers_are_killed(
    postgres: PostgresServer, tmp_path: pathlib.Path
) -> None:
    run_killing_workers(tmp_path, program(postgres, tmp_path, "killed_workers"))
    check_output(postgres, "killed_workers")


def test_rows_are_written_once_when_the_driver_is_killed(
    postgres: PostgresServer, tmp_path: pathlib.Path
) -> None:
    begin, last = (
        program(postgres, tmp_path, "killed_drivers", records) for records in (RECORDS_PER_EPOCH, NUMBERS)
    )
    run_killing_drivers(tmp_path, begin, last)
    check_output(postgres, "killed_drivers")
