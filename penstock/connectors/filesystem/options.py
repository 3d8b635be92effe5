"""The options of a filesystem table."""

from __future__ import annotations

import datetime as dt
import re

from penstock.common.config_values import parse_duration, parse_memory
from penstock.common.time import Duration
from penstock.connectors.filesystem.partition_time import check_formatter, zone
from penstock.formats.base import Option, boolean, one_of


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression ({error})") from None


def _tasks(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError("expected a number of tasks, at least 1")
    return int(text)


OPTIONS = (
    Option("path", required=True),
    Option("format", required=True),
    Option("partition.default-name", default="__DEFAULT_PARTITION__"),
    Option("source.monitor-interval"),
    Option("source.report-statistics", one_of("NONE", "ALL"), "ALL"),
    Option("source.path.regex-pattern", _pattern),
    Option("lookup.cache", one_of("FULL")),
    Option("lookup.full-cache.periodic-reload.interval", parse_duration),
    Option("sink.rolling-policy.file-size", parse_memory, 128 << 20),
    Option("sink.rolling-policy.rollover-interval", parse_duration),
    Option("sink.rolling-policy.check-interval", parse_duration),
    Option("sink.rolling-policy.inactivity-interval", parse_duration),
    Option("sink.shuffle-by-partition.enable", boolean, False),
    Option("partition.time-extractor.kind", one_of("default", "custom"), "default"),
    Option("partition.time-extractor.class"),
    Option("partition.time-extractor.timestamp-formatter", check_formatter),
    Option("partition.time-extractor.timestamp-pattern"),
    Option("sink.partition-commit.trigger", one_of("process-time", "partition-time"), "process-time"),
    Option("sink.partition-commit.watermark-time-zone", zone, dt.timezone.utc),
    Option("sink.partition-commit.delay", parse_duration, Duration.of_millis(0)),
    Option("sink.partition-commit.policy.kind"),
    Option("sink.partition-commit.policy.class"),
    Option("sink.partition-commit.policy.class.parameters"),
    Option("sink.partition-commit.success-file.name", default="_SUCCESS"),
    Option("auto-compaction", boolean, False),
    Option("compaction.file-size", parse_memory),
    Option("compaction.parallelism", _tasks),
    Option("sink.parallelism", _tasks),
)
