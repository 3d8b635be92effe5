"""The options of `nats` tables, and what must hold between them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.nats.client import NatsAddress
from penstock.connectors.nats.source import NatsReading
from penstock.connectors.option_values import at_least, millis, size_bytes
from penstock.formats.base import Option, one_of

OPTIONS = (
    Option("url", required=True),
    Option("stream"),
    Option("subject"),
    Option("format", required=True),
    Option("username"),
    Option("password"),
    Option("token"),
    Option("connection.timeout", millis, 10_000),
    Option("ssl.ca-file"),
    Option("scan.startup.mode", one_of("earliest", "latest", "sequence", "timestamp"), "earliest"),
    Option("scan.startup.sequence", at_least(1)),
    Option("scan.startup.timestamp-millis", at_least(0)),
    Option("scan.bounded.mode", one_of("unbounded", "latest"), "unbounded"),
    Option("scan.on-missing", one_of("fail", "skip"), "fail"),
    Option("sink.batch.max-size", at_least(1), 500),
    Option("sink.flush-buffer.size", size_bytes, 5 << 20),
    Option("sink.max-retries", at_least(0), 5),
    Option("sink.retry-delay", millis, 100),
    Option("sink.parallelism", at_least(1)),
)
_WANTED = {"sequence": "scan.startup.sequence", "timestamp": "scan.startup.timestamp-millis"}


def address(values: Mapping[str, Any]) -> NatsAddress:
    return NatsAddress(
        values["url"],
        values["username"],
        values["password"],
        values["token"],
        values["connection.timeout"] / 1000,
        values["ssl.ca-file"],
    )


def reading(values: Mapping[str, Any]) -> NatsReading:
    subjects = [part.strip() for part in (values["subject"] or "").split(";") if part.strip()]
    return NatsReading(
        address(values),
        values["stream"] or "",
        tuple(subjects),
        _begin(values),
        values["scan.bounded.mode"] == "latest",
        values["scan.on-missing"] == "skip",
    )


def _begin(values: Mapping[str, Any]) -> str | int | dt.datetime:
    mode: str = values["scan.startup.mode"]
    if mode == "sequence":
        number: int = values["scan.startup.sequence"]
        return number
    if mode == "timestamp":
        return dt.datetime.fromtimestamp(values["scan.startup.timestamp-millis"] / 1000, dt.timezone.utc)
    return mode


def check(values: Mapping[str, Any], direction: str) -> None:
    if direction == "source" and values["stream"] is None:
        raise ValidationError("reading needs a 'stream'")
    subject = values["subject"] or ""
    if direction == "sink" and (not subject or any(sign in subject for sign in (";", "*", ">"))):
        raise ValidationError("writing needs one 'subject', without wildcards")
    for mode, option in _WANTED.items():
        if (values["scan.startup.mode"] == mode) != (values[option] is not None):
            raise ValidationError(f"'{option}' belongs to 'scan.startup.mode' = '{mode}', and that to it")
