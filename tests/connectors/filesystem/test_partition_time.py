"""The time of a partition, from its folder; the forms are those that Flink reads."""

from __future__ import annotations

import datetime as dt

import pytest

from penstock.common.errors import MalformedRecordError
from penstock.connectors.filesystem.partition_time import PartitionTime, epoch_millis, zone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-06 07:08:09", dt.datetime(2024, 5, 6, 7, 8, 9)),
        ("2024-5-6 7:8:9", dt.datetime(2024, 5, 6, 7, 8, 9)),
        ("2024-05-06 07:08:09.25", dt.datetime(2024, 5, 6, 7, 8, 9, 250_000)),
        ("2024-05-06", dt.datetime(2024, 5, 6)),
        ("2024-5-6", dt.datetime(2024, 5, 6)),
        ("2024-02-30", dt.datetime(2024, 3, 1)),
        ("2024-12-31 24:00:00", dt.datetime(2025, 1, 1)),
        ("2024-14-01 00:61:00", dt.datetime(2025, 2, 1, 1, 1)),
    ],
)
def test_without_a_formatter_the_first_value_is_read_leniently(text: str, expected: dt.datetime) -> None:
    folder = f"at={text.replace(':', '%3A')}/x=1"
    assert PartitionTime(("at", "x")).of(folder) == expected


@pytest.mark.parametrize(
    ("pattern", "folder", "expected"),
    [
        ("$dt $hr:00:00", "dt=2024-05-06/hr=7", dt.datetime(2024, 5, 6, 7)),
        ("$dt $hr:30:00", "dt=2024-05-06/hr=07", dt.datetime(2024, 5, 6, 7, 30)),
        ("$hr", "dt=x/hr=2024-05-06", dt.datetime(2024, 5, 6)),
        ("2024-$dt-$hr", "dt=5/hr=6", dt.datetime(2024, 5, 6)),
    ],
)
def test_a_pattern_puts_the_values_together(pattern: str, folder: str, expected: dt.datetime) -> None:
    assert PartitionTime(("dt", "hr"), pattern).of(folder) == expected


@pytest.mark.parametrize(
    ("formatter", "folder", "expected"),
    [
        ("yyyyMMdd", "p=20240506", dt.datetime(2024, 5, 6)),
        ("yyyyMMddHH", "p=2024050607", dt.datetime(2024, 5, 6, 7)),
        ("yyyy/MM/dd HH:mm", "p=2024%2F05%2F06 07%3A08", dt.datetime(2024, 5, 6, 7, 8)),
        ("yyyy-MM-dd[ HH:mm]", "p=2024-05-06", dt.datetime(2024, 5, 6)),
        ("yyyy-MM-dd[ HH:mm]", "p=2024-05-06 07%3A08", dt.datetime(2024, 5, 6, 7, 8)),
        ("d MMM yyyy", "p=6 May 2024", dt.datetime(2024, 5, 6)),
    ],
)
def test_a_formatter_says_how_the_text_is_read(formatter: str, folder: str, expected: dt.datetime) -> None:
    assert PartitionTime(("p",), None, formatter).of(folder) == expected


@pytest.mark.parametrize(
    ("formatter", "folder"),
    [(None, "p=monday"), (None, "p=2024-05-06 7"), (None, "p=20240506"), ("yyyyMMdd", "p=2024-05-06")],
)
def test_a_text_that_is_no_time_is_named_with_its_partition(formatter: str | None, folder: str) -> None:
    with pytest.raises(MalformedRecordError, match=f"the time of partition '{folder}' cannot be read"):
        PartitionTime(("p",), None, formatter).of(folder)


@pytest.mark.parametrize(
    ("name", "hour"), [("UTC", 12), ("Asia/Shanghai", 4), ("GMT-08:00", 20), ("America/New_York", 17)]
)
def test_a_partition_time_is_a_wall_clock_time_of_the_zone(name: str, hour: int) -> None:
    moment = dt.datetime(2024, 1, 1, hour, tzinfo=dt.timezone.utc)
    assert epoch_millis(dt.datetime(2024, 1, 1, 12), zone(name)) == moment.timestamp() * 1000


def test_clock_changes_are_resolved_as_java_does() -> None:
    """In New York 1:30 came twice on 3 November 2024; 2:30 did not come on 10 March."""
    new_york = zone("America/New_York")
    first = dt.datetime(2024, 11, 3, 5, 30, tzinfo=dt.timezone.utc)
    assert epoch_millis(dt.datetime(2024, 11, 3, 1, 30), new_york) == first.timestamp() * 1000
    after = dt.datetime(2024, 3, 10, 7, 30, tzinfo=dt.timezone.utc)
    assert epoch_millis(dt.datetime(2024, 3, 10, 2, 30), new_york) == after.timestamp() * 1000
