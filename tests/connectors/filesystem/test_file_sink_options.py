"""Options of the filesystem sink that cannot be read."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.connectors.registry import find_connector


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("sink.rolling-policy.file-size", "huge", "a memory size such as"),
        ("compaction.file-size", "1 parsec", "unknown memory unit 'parsec'"),
        ("sink.rolling-policy.rollover-interval", "soon", "a duration such as"),
        ("sink.rolling-policy.check-interval", "1 fortnight", "unknown time unit 'fortnight'"),
        ("sink.rolling-policy.inactivity-interval", "-1 s", "a duration such as"),
        ("sink.parallelism", "0", "at least 1"),
        ("compaction.parallelism", "many", "at least 1"),
        ("sink.partition-commit.watermark-time-zone", "Atlantis/Centre", "expected a time zone such as"),
        ("sink.partition-commit.watermark-time-zone", "+03:00", "expected a time zone such as"),
        ("sink.partition-commit.delay", "later", "a duration such as"),
        ("sink.partition-commit.trigger", "full-moon", "process-time, partition-time"),
        ("partition.time-extractor.kind", "oracle", "default, custom"),
        ("partition.time-extractor.timestamp-formatter", "yyyy-bb", "unknown pattern letter 'b'"),
        ("partition.time-extractor.timestamp-formatter", "HH:mm", "year, month and day"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_its_option(
    option: str, value: str, message: str
) -> None:
    given = {"connector": "filesystem", "path": "/t", "format": "csv", option: value}
    with pytest.raises(ValidationError, match=f"for option '{option}'.*{message}"):
        find_connector(given, "t")
