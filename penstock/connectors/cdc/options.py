"""The options that `postgres-cdc` and `mysql-cdc` tables share, under Flink CDC's names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.option_values import at_least, millis
from penstock.formats.base import Option, boolean

DEBEZIUM = "debezium."

SHARED_OPTIONS = (
    Option("hostname", required=True),
    Option("username", required=True),
    Option("password", required=True),
    Option("database-name", required=True),
    Option("table-name", required=True),
    Option("scan.incremental.snapshot.enabled", boolean),
    Option("scan.incremental.snapshot.chunk.size", at_least(2), 8096),
    Option("scan.incremental.snapshot.chunk.key-column"),
    Option("scan.incremental.snapshot.backfill.skip", boolean, False),
    Option("scan.incremental.snapshot.unbounded-chunk-first.enabled", boolean, True),
    Option("scan.incremental.close-idle-reader.enabled", boolean, False),
    Option("scan.snapshot.fetch.size", at_least(2), 1024),
    Option("scan.newly-added-table.enabled", boolean, False),
    Option("scan.read-changelog-as-append-only.enabled", boolean, False),
    Option("chunk-meta.group.size", at_least(2), 1000),
    Option("chunk-key.even-distribution.factor.upper-bound", float, 1000.0),
    Option("chunk-key.even-distribution.factor.lower-bound", float, 0.05),
    Option("connect.timeout", millis, 30_000),
    Option("connect.max-retries", at_least(0), 3),
    Option("connection.pool.size", at_least(1), 20),
)
"""Accepted and without effect, because there is nothing for them to do: backfill.skip (chunks need none),
unbounded-chunk-first and chunk-meta.group.size (chunks are found one by one), even-distribution (chunks are always
cut at rows that are there), close-idle-reader (a task that has nothing to do is not started),
connection.pool.size."""


def check(values: Mapping[str, Any], where: str) -> None:
    """Refuses what cannot be done."""
    if values["scan.newly-added-table.enabled"]:
        raise NotSupportedError(
            "'scan.newly-added-table.enabled' = 'true'",
            "the tables of a job are those that were there when it first started",
            where=where,
            do="start another job for the new tables",
        )


def debezium_options(options: Mapping[str, str], known: Mapping[str, Option], where: str) -> dict[str, Any]:
    """The values of the settings of Debezium that mean something here; others are refused by name."""
    values = {name: option.default for name, option in known.items()}
    for key, text in options.items():
        if not key.startswith(DEBEZIUM):
            continue
        name = key[len(DEBEZIUM) :]
        if name not in known:
            raise NotSupportedError(
                f"option '{key}'",
                "there is no Debezium engine here that could take it",
                where=where,
                do=f"leave it out; known are {', '.join(DEBEZIUM + n for n in known)}",
            )
        try:
            values[name] = known[name].parse(text)
        except ValueError as error:
            raise ValidationError(
                f"invalid value {text!r} for option '{key}': {error}", where=where
            ) from None
    return values


def time_zone(text: str) -> dt.tzinfo:
    """A zone such as `Asia/Shanghai`, `UTC` or `+08:00`."""
    if text[:1] in "+-":
        return dt.datetime.strptime(text, "%z").tzinfo or dt.timezone.utc
    try:
        return ZoneInfo(text)
    except (KeyError, OSError):
        raise ValueError("there is no such time zone") from None


def skipped_operations(text: str) -> frozenset[str]:
    """Debezium's letters: c, u, d, t, or `none`."""
    letters = frozenset(part.strip() for part in text.split(",") if part.strip())
    if not letters <= {"c", "u", "d", "t", "none"}:
        raise ValueError("expected c, u, d and t, separated by commas, or none")
    return letters - {"none"}
