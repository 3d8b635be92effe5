"""Streaming INSERTs into files: how many files an epoch writes, and when partitions are committed."""

from __future__ import annotations

import json
import pathlib
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.common.errors import PenstockError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

HOURS = 4
PER_HOUR = 6
SUCCESS = {"sink.partition-commit.policy.kind": "success-file"}
BY_HOUR = {
    **SUCCESS,
    "sink.partition-commit.trigger": "partition-time",
    "sink.partition-commit.delay": "1 h",
    "partition.time-extractor.timestamp-pattern": "$day $hr:00:00",
}
INSERT = (
    "INSERT INTO copies "
    "SELECT n, DATE_FORMAT(ts, 'yyyy-MM-dd') AS `day`, DATE_FORMAT(ts, 'HH') AS hr FROM events"
)


def write_events(folder: pathlib.Path, first: int = 0, hours: int = HOURS) -> None:
    """An event every ten minutes, from hour `first` on, in one file."""
    folder.mkdir(exist_ok=True)
    lines = [
        f"{hour * PER_HOUR + n},2024-01-01 {hour:02d}:{n * 10:02d}:00\n"
        for hour in range(first, first + hours)
        for n in range(PER_HOUR)
    ]
    (folder / f"{first}.csv").write_text("".join(lines))


def with_clause(options: dict[str, str]) -> str:
    return "(" + ", ".join(f"'{key}' = '{value}'" for key, value in options.items()) + ")"


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("table.local-time-zone", "UTC")
    env.get_config().set("parallelism.default", "1")
    return env


def create_tables(
    env: TableEnvironment, folder: pathlib.Path, sink: dict[str, str], source: dict[str, str] | None = None
) -> None:
    files = {"connector": "filesystem", "path": (folder / "in").as_uri(), "format": "csv"}
    env.execute_sql(
        "CREATE TABLE events (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH "
        + with_clause({**files, **(source or {})})
    )
    files = {"connector": "filesystem", "path": (folder / "out").as_uri(), "format": "json"}
    env.execute_sql(
        "CREATE TABLE copies (n INT, `day` STRING, hr STRING) PARTITIONED BY (`day`, hr) WITH "
        + with_clause({**files, **sink})
    )


def insert(env: TableEnvironment) -> Any:
    """Starts the copying; the job that does it."""
    [job] = env.execute_sql(INSERT)._result.details["jobs"]
    return job


def wait_for(condition: Callable[[], bool], seen: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"60 s are over, and there is {seen()}"
        time.sleep(0.05)


def parts(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted((folder / "out").glob("day=*/hr=*/part-*"))


def committed(folder: pathlib.Path) -> list[str]:
    return sorted(path.parent.name for path in (folder / "out").glob("day=*/hr=*/_SUCCESS"))


def numbers(folder: pathlib.Path) -> list[int]:
    return sorted(n for part in parts(folder) for n in numbers_in(part))


def numbers_in(part: pathlib.Path) -> list[int]:
    if part.suffix == ".parquet":
        found: list[int] = pq.read_table(part, partitioning=None).column("n").to_pylist()
        return found
    return [json.loads(line)["n"] for line in part.read_text().splitlines()]


@pytest.mark.parametrize(
    ("more", "files_per_hour"),
    [
        ({}, {3}),
        ({"auto-compaction": "true"}, {1}),
        ({"auto-compaction": "true", "format": "parquet"}, {1}),
        ({"sink.shuffle-by-partition.enable": "true"}, {1}),
    ],
    ids=["as they come", "compacted", "compacted Parquet", "shuffled"],
)
def test_compaction_leaves_one_file_of_a_partition_and_epoch(
    env: TableEnvironment, tmp_path: pathlib.Path, more: dict[str, Any], files_per_hour: set[int]
) -> None:
    """Three files with rows of the same hours are read by three tasks in one epoch."""
    (tmp_path / "in").mkdir()
    for task in range(3):
        lines = [f"{hour * 3 + task},2024-01-01 {hour:02d}:00:00\n" for hour in range(HOURS)]
        (tmp_path / "in" / f"{task}.csv").write_text("".join(lines))
    create_tables(env, tmp_path, more)
    env.get_config().set("parallelism.default", "3")
    env.execute_sql(INSERT).wait()
    assert numbers(tmp_path) == list(range(3 * HOURS))
    assert set(Counter(part.parent for part in parts(tmp_path)).values()) == files_per_hour


def test_a_partition_is_committed_when_the_watermark_has_passed_it(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    """The first file ends at 3:50. Hour 3 waits, through a savepoint, until somebody has seen 4:00 and later."""
    write_events(tmp_path / "in")
    create_tables(env, tmp_path, BY_HOUR, {"source.monitor-interval": "100 ms"})
    env.get_config().set("execution.epoch.max-records", "5")
    job = insert(env)
    wait_for(lambda: len(committed(tmp_path)) >= 3, lambda: committed(tmp_path))
    wait_for(lambda: HOURS * PER_HOUR - 1 in numbers(tmp_path), lambda: numbers(tmp_path))
    savepoint = job.stop_with_savepoint(False, str(tmp_path / "savepoints"))
    assert numbers(tmp_path) == list(range(HOURS * PER_HOUR))
    assert committed(tmp_path) == ["hr=00", "hr=01", "hr=02"]

    # Hour 1 gets a late row, which makes it complete again; hour 4 now waits for what does not come.
    (tmp_path / "out" / "day=2024-01-01" / "hr=01" / "_SUCCESS").unlink()
    write_events(tmp_path / "in", first=HOURS, hours=1)
    (tmp_path / "in" / "late.csv").write_text("1000,2024-01-01 01:59:00\n")
    env.get_config().set("execution.state-recovery.path", savepoint)
    job = insert(env)
    wait_for(lambda: committed(tmp_path)[1:] == ["hr=01", "hr=02", "hr=03"], lambda: committed(tmp_path))
    wait_for(lambda: 1000 in numbers(tmp_path) and 29 in numbers(tmp_path), lambda: numbers(tmp_path))
    job.cancel()
    assert committed(tmp_path) == ["hr=00", "hr=01", "hr=02", "hr=03"]
    assert numbers(tmp_path) == [*range((HOURS + 1) * PER_HOUR), 1000]


def test_process_time_commits_after_the_delay_although_nothing_comes_any_more(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    write_events(tmp_path / "in", hours=2)
    delay = {"sink.partition-commit.delay": "2 s"}
    create_tables(env, tmp_path, {**SUCCESS, **delay}, {"source.monitor-interval": "1 h"})
    started = time.time()
    job = insert(env)
    wait_for(lambda: committed(tmp_path) == ["hr=00", "hr=01"], lambda: committed(tmp_path))
    job.cancel()
    marked = min(path.stat().st_mtime for path in (tmp_path / "out").rglob("_SUCCESS"))
    assert marked - started > 2
    assert numbers(tmp_path) == list(range(2 * PER_HOUR))


def test_the_end_of_the_input_commits_all_partitions(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    write_events(tmp_path / "in")
    create_tables(env, tmp_path, BY_HOUR)
    env.get_config().set("execution.epoch.max-records", "7")
    env.execute_sql(INSERT).wait()
    assert committed(tmp_path) == ["hr=00", "hr=01", "hr=02", "hr=03"]
    assert numbers(tmp_path) == list(range(HOURS * PER_HOUR))


def test_a_partition_without_a_time_fails_the_job_with_its_name(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    write_events(tmp_path / "in")
    create_tables(env, tmp_path, {**BY_HOUR, "partition.time-extractor.timestamp-pattern": "$hr o''clock"})
    env.get_config().set("execution.epoch.max-records", "7")
    with pytest.raises(PenstockError, match="the time of partition 'day=2024-01-01/hr=00' cannot be read"):
        env.execute_sql(INSERT).wait()


def test_updates_without_a_key_keep_the_tasks_that_made_them(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    write_events(tmp_path / "in")
    create_tables(env, tmp_path, {"format": "debezium-json", "sink.parallelism": "3"})
    with pytest.raises(ValidationError, match="no primary key by which the changes of a row"):
        env.execute_sql("INSERT INTO copies SELECT CAST(COUNT(*) AS INT), 'a', 'b' FROM events")
