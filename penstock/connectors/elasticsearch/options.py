"""The options of `elasticsearch-7` and `opensearch` tables, under Flink's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.async_sink import AsyncSinkSettings
from penstock.connectors.elasticsearch.bulk import Cluster
from penstock.connectors.http.client import HttpSettings
from penstock.connectors.option_values import at_least, millis, size_bytes
from penstock.formats.base import Option, boolean, one_of

_UNBOUNDED_ACTIONS = 10_000
_UNBOUNDED_BYTES = 64 << 20


def _hosts(text: str) -> tuple[str, ...]:
    found = tuple(host.strip() for host in text.split(";") if host.strip())
    if not found:
        raise ValueError("expected 'http://host:9200', several separated by ;")
    return found


OPTIONS = (
    Option("hosts", _hosts, required=True),
    Option("index", required=True),
    Option("document-id.key-delimiter", str, "_"),
    Option("username"),
    Option("password"),
    Option("connection.path-prefix", str, ""),
    Option("connection.timeout", millis, 10_000),
    Option("connection.request-timeout", millis, 10_000),
    Option("socket.timeout", millis, 30_000),
    Option("format", one_of("json"), "json"),
    Option("sink.bulk-flush.max-actions", at_least(0), 1000),
    Option("sink.bulk-flush.max-size", size_bytes, 2 << 20),
    Option("sink.bulk-flush.interval", millis, 1000),
    Option("sink.bulk-flush.backoff.strategy", one_of("DISABLED", "CONSTANT", "EXPONENTIAL"), "DISABLED"),
    Option("sink.bulk-flush.backoff.max-retries", at_least(1), 8),
    Option("sink.bulk-flush.backoff.delay", millis, 50),
    Option("sink.delivery-guarantee", one_of("none", "at-least-once"), "at-least-once"),
    Option("sink.parallelism", at_least(1)),
    Option("ssl.ca-file"),
    Option("allow-insecure", boolean, False),
)


def cluster(values: Mapping[str, Any]) -> Cluster:
    if (values["username"] is None) != (values["password"] is None):
        raise ValidationError("'username' and 'password' must be set at the same time")
    settings = HttpSettings(
        username=values["username"],
        password=values["password"],
        connect_timeout_s=values["connection.timeout"] / 1000,
        read_timeout_s=values["socket.timeout"] / 1000,
        ca_file=values["ssl.ca-file"],
        verify=not values["allow-insecure"],
    )
    return Cluster(values["hosts"], settings, values["connection.path-prefix"])


def flush_settings(values: Mapping[str, Any]) -> AsyncSinkSettings:
    strategy, delay = (values[f"sink.bulk-flush.backoff.{part}"] for part in ("strategy", "delay"))
    retries = values["sink.bulk-flush.backoff.max-retries"]
    return bulk_settings(
        values["sink.bulk-flush.max-actions"],
        values["sink.bulk-flush.max-size"],
        0 if strategy == "DISABLED" else retries,
        delay,
        strategy == "EXPONENTIAL",
    )


def bulk_settings(actions: int, size: int, retries: int, delay_ms: int, grows: bool) -> AsyncSinkSettings:
    """For 0, or less, actions or bytes their number decides nothing."""
    return AsyncSinkSettings(
        max_batch_size=actions if actions > 0 else _UNBOUNDED_ACTIONS,
        max_batch_size_in_bytes=size if size > 0 else _UNBOUNDED_BYTES,
        max_in_flight_requests=2,
        max_record_size_in_bytes=100 << 20,
        max_retries=retries,
        initial_backoff_ms=delay_ms,
        max_backoff_ms=max(delay_ms, 60_000) if grows else delay_ms,
    )
