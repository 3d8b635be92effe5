"""The options of `delta` tables. Those of the storage are deltalake's own, after `storage.`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from penstock.connectors.delta.growing import LATEST, Following
from penstock.connectors.delta.lake import DeltaLake
from penstock.connectors.option_values import at_least
from penstock.formats.base import Option, boolean, one_of

STORAGE = "storage."
FOLLOWING = ("startingVersion", "startingTimestamp", "ignoreDeletes", "ignoreChanges")
"""These mean something in the mode `streaming` only."""


def _version(text: str) -> str:
    if text != LATEST and not text.isdecimal():
        raise ValueError(f"expected the number of a version, or '{LATEST}'")
    return text


def _timestamp(text: str) -> str:
    dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return text


OPTIONS = (
    Option("table-path", required=True),
    Option("versionAsOf", at_least(0)),
    Option("timestampAsOf"),
    Option("mode", one_of("batch", "streaming"), "batch"),
    Option("startingVersion", _version),
    Option("startingTimestamp", _timestamp),
    Option("updateCheckIntervalMillis", at_least(0), 5000),
    Option("ignoreDeletes", boolean, False),
    Option("ignoreChanges", boolean, False),
    Option("sink.unknown-outcome", one_of("skip", "publish")),
    Option("sink.parallelism", at_least(1)),
)


def lake(path: str, raw: Mapping[str, str]) -> DeltaLake:
    return DeltaLake(path, {k[len(STORAGE) :]: v for k, v in raw.items() if k.startswith(STORAGE)})


def following(values: Mapping[str, Any]) -> Following | None:
    """How new versions are read; None: they are not."""
    if values["mode"] == "batch":
        return None
    return Following(
        values["updateCheckIntervalMillis"],
        values["startingVersion"],
        values["startingTimestamp"],
        values["ignoreDeletes"],
        values["ignoreChanges"],
    )
