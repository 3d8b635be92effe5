"""The options of `mqtt` tables, and what must hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.mqtt.client import MqttAddress
from penstock.connectors.mqtt.source import DEFAULT_PREFETCH, DEFAULT_SESSION_S
from penstock.connectors.option_values import at_least, millis, size_bytes
from penstock.formats.base import Option, boolean, one_of

OPTIONS = (
    Option("url", required=True),
    Option("topic", required=True),
    Option("format", required=True),
    Option("qos", one_of("0", "1", "2"), "1"),
    Option("username"),
    Option("password"),
    Option("connection.timeout", millis, 10_000),
    Option("ssl.ca-file"),
    Option("scan.client-id"),
    Option("scan.prefetch-count", at_least(1), DEFAULT_PREFETCH),
    Option("scan.session-expiry", millis, DEFAULT_SESSION_S * 1000),
    Option("sink.retain", boolean, False),
    Option("sink.batch.max-size", at_least(1), 500),
    Option("sink.flush-buffer.size", size_bytes, 5 << 20),
    Option("sink.max-retries", at_least(0), 5),
    Option("sink.retry-delay", millis, 100),
    Option("sink.parallelism", at_least(1)),
)


def address(values: Mapping[str, Any]) -> MqttAddress:
    return MqttAddress(
        values["url"],
        values["username"],
        values["password"],
        values["connection.timeout"] / 1000,
        values["ssl.ca-file"],
    )


def topics(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(part.strip() for part in values["topic"].split(";") if part.strip())


def check(values: Mapping[str, Any], direction: str) -> None:
    if direction == "source" and values["qos"] == "0":
        raise ValidationError(
            "reading with 'qos' = '0' would lose messages: the broker does not give them again"
        )
    if direction == "source" and not values["scan.client-id"]:
        raise ValidationError("reading needs a 'scan.client-id', by which the broker knows the job again")
    if direction == "sink" and (len(topics(values)) != 1 or any(sign in values["topic"] for sign in "+#")):
        raise ValidationError("writing needs one 'topic', without wildcards")
