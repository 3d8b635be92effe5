"""The options of `mysql-cdc` tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.cdc.options import SHARED_OPTIONS, skipped_operations, time_zone
from penstock.connectors.option_values import at_least, millis
from penstock.formats.base import Option, boolean, one_of

STARTUP_MODES = ("initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot")
JDBC_PROPERTIES = "jdbc.properties."


def server_ids(text: str) -> tuple[int, int]:
    """`5400` or `5400-5408`: the first and the last of the numbers by which readers of the log are known."""
    first, dash, last = text.partition("-")
    ids = int(first), int(last if dash else first)
    if not 0 < ids[0] <= ids[1] < 1 << 32:
        raise ValueError("expected a number such as 5400, or a range such as 5400-5408")
    return ids


OPTIONS = (
    *SHARED_OPTIONS,
    Option("port", at_least(1), 3306),
    Option("server-id", server_ids),
    Option("server-time-zone", time_zone),
    Option("scan.startup.mode", one_of(*STARTUP_MODES), "initial"),
    Option("scan.startup.specific-offset.file"),
    Option("scan.startup.specific-offset.pos", at_least(4)),
    Option("scan.startup.specific-offset.gtid-set"),
    Option("scan.startup.specific-offset.skip-events", at_least(0), 0),
    Option("scan.startup.specific-offset.skip-rows", at_least(0), 0),
    Option("scan.startup.timestamp-millis", at_least(0)),
    Option("scan.parse.online.schema.changes.enabled", boolean, False),
    Option("use.legacy.json.format", boolean, True),
    Option("heartbeat.interval", millis, 30_000),
)
"""`heartbeat.interval` has nothing to do: the position moves on with every epoch, also if none of its tables
changed."""

DEBEZIUM_OPTIONS = {
    "skipped.operations": Option("skipped.operations", skipped_operations, frozenset("t")),
    "min.row.count.to.stream.result": Option("min.row.count.to.stream.result", at_least(0), 1000),
}


def check(values: Mapping[str, Any], where: str) -> None:
    """Refuses options that only make sense together, or not at all."""
    mode = values["scan.startup.mode"]
    if values["scan.startup.specific-offset.gtid-set"] is not None:
        raise NotSupportedError(
            "'scan.startup.specific-offset.gtid-set'",
            "places in the log are files and offsets here",
            where=where,
            do="set 'scan.startup.specific-offset.file' and 'scan.startup.specific-offset.pos'",
        )
    for option in ("scan.parse.online.schema.changes.enabled",):
        if values[option]:
            raise NotSupportedError(
                f"'{option}' = 'true'", "a table that takes another's place is not followed", where=where
            )
    for option in ("skip-events", "skip-rows"):
        if values[f"scan.startup.specific-offset.{option}"]:
            raise NotSupportedError(
                f"'scan.startup.specific-offset.{option}'",
                "reading begins between two transactions",
                where=where,
            )
    needed = {
        "specific-offset": ("scan.startup.specific-offset.file", "scan.startup.specific-offset.pos"),
        "timestamp": ("scan.startup.timestamp-millis",),
    }
    for option in needed.get(mode, ()):
        if values[option] is None:
            raise ValidationError(f"'{option}' is required in '{mode}' startup mode but missing")


def zone_of(values: Mapping[str, Any]) -> dt.tzinfo:
    """Where TIMESTAMP columns that are declared TIMESTAMP are shown; UTC unless the table says otherwise."""
    found: dt.tzinfo | None = values["server-time-zone"]
    return found or dt.timezone.utc
