"""Streaming INSERTs into files: how many files an epoch writes, and when partitions are committed."""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from typing import Any

import pytest

from penstock.common.errors import ValidationError
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


def parts(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted((folder / "out").glob("day=*/hr=*/part-*"))


def committed(folder: pathlib.Path) -> list[str]:
    return sorted(path.parent.name for path in (folder / "out").glob("day=*/hr=*/_SUCCESS"))


def numbers(folder: pathlib.Path) -> list[int]:
    return sorted(json.loads(line)["n"] for part in parts(folder) for line in part.read_text().splitlines())


@pytest.mark.parametrize(
    ("more", "files_per_hour"),
    [({}, {3}), ({"auto-compaction": "true"}, {1}), ({"sink.shuffle-by-partition.enable": "true"}, {1})],
    ids=["as they come", "compacted", "shuffled"],
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


def test_updates_without_a_key_keep_the_tasks_that_made_them(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    write_events(tmp_path / "in")
    create_tables(env, tmp_path, {"format": "debezium-json", "sink.parallelism": "3"})
    with pytest.raises(ValidationError, match="no primary key by which the changes of a row"):
        env.execute_sql("INSERT INTO copies SELECT CAST(COUNT(*) AS INT), 'a', 'b' FROM events")
