"""The options of `rabbitmq` tables, and what must hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.option_values import at_least, millis, size_bytes
from penstock.connectors.rabbitmq.client import RabbitAddress
from penstock.connectors.rabbitmq.source import DEFAULT_PREFETCH
from penstock.formats.base import Option, boolean

OPTIONS = (
    Option("url", required=True),
    Option("queue"),
    Option("exchange"),
    Option("routing-key"),
    Option("format", required=True),
    Option("connection.timeout", millis, 10_000),
    Option("heartbeat", millis),
    Option("ssl.ca-file"),
    Option("scan.prefetch-count", at_least(1), DEFAULT_PREFETCH),
    Option("scan.correlation-ids", boolean, False),
    Option("sink.batch.max-size", at_least(1), 500),
    Option("sink.flush-buffer.size", size_bytes, 5 << 20),
    Option("sink.max-retries", at_least(0), 5),
    Option("sink.retry-delay", millis, 100),
    Option("sink.parallelism", at_least(1)),
)


def address(values: Mapping[str, Any]) -> RabbitAddress:
    beat = values["heartbeat"]
    return RabbitAddress(
        values["url"],
        values["connection.timeout"] / 1000,
        None if beat is None else max(1, beat // 1000),
        values["ssl.ca-file"],
    )


def check(values: Mapping[str, Any], direction: str) -> None:
    if direction == "source" and values["queue"] is None:
        raise ValidationError("reading needs a 'queue'")
    if direction == "sink" and (values["queue"] is None) == (values["exchange"] is None):
        raise ValidationError("writing needs a 'queue', or an 'exchange' with a 'routing-key'; one of them")
    if values["routing-key"] is not None and values["exchange"] is None:
        raise ValidationError("a 'routing-key' is for an 'exchange'")
