"""The options of a JDBC table, and what must hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.lookup import LOOKUP_OPTIONS
from penstock.connectors.option_values import at_least, millis
from penstock.formats.base import Option, boolean, one_of


def _seconds(text: str) -> int:
    found = millis(text)
    if found < 1000:
        raise ValueError("it must not be less than a second")
    return found // 1000


PARTITION = tuple(f"scan.partition.{part}" for part in ("column", "num", "lower-bound", "upper-bound"))
_OLD_CACHE = ("lookup.cache.max-rows", "lookup.cache.ttl")

OPTIONS = (
    Option("url", required=True),
    Option("table-name", required=True),
    Option("driver"),
    Option("compatible-mode"),
    Option("username"),
    Option("password"),
    Option("connection.max-retry-timeout", _seconds, 60),
    Option("scan.partition.column"),
    Option("scan.partition.num", at_least(1)),
    Option("scan.partition.lower-bound", int),
    Option("scan.partition.upper-bound", int),
    Option("scan.fetch-size", at_least(0), 0),
    Option("scan.auto-commit", boolean, True),
    *(option for option in LOOKUP_OPTIONS if option.name != "lookup.max-retries"),
    Option("lookup.max-retries", at_least(0), 3),
    Option("lookup.cache.max-rows", int),
    Option("lookup.cache.ttl", millis),
    Option("lookup.cache.caching-missing-key", boolean, True),
    Option("filter.handling.policy", one_of("always", "never"), "always"),
    Option("sink.buffer-flush.max-rows", at_least(0), 100),
    Option("sink.buffer-flush.interval", millis, 1000),
    Option("sink.max-retries", at_least(0), 3),
    Option("sink.parallelism", at_least(1)),
    Option("sink.delivery-guarantee", one_of("at-least-once", "exactly-once"), "at-least-once"),
    Option("sink.unknown-outcome", one_of("skip", "publish")),
)


def check(values: Mapping[str, Any]) -> None:
    """Refuses options that only make sense together, or not at all."""
    for group in (("username", "password"), PARTITION, _OLD_CACHE):
        missing = [name for name in group if values[name] is None]
        if missing and len(missing) < len(group):
            raise ValidationError(
                f"either all or none of the options {', '.join(group)} must be given: {missing[0]} is missing"
            )
    low, high = values["scan.partition.lower-bound"], values["scan.partition.upper-bound"]
    if low is not None and low > high:
        raise ValidationError(
            f"'scan.partition.lower-bound' = '{low}' must not be larger than "
            f"'scan.partition.upper-bound' = '{high}'"
        )


def with_old_cache_options(values: dict[str, Any]) -> dict[str, Any]:
    """The options of Flink before 1.16, where they say something, as those that took their place."""
    rows, ttl_ms = (values[name] for name in _OLD_CACHE)
    if values["lookup.cache"] == "PARTIAL" or not rows or not ttl_ms or rows < 0:
        return values
    return {
        **values,
        "lookup.cache": "PARTIAL",
        "lookup.partial-cache.max-rows": rows,
        "lookup.partial-cache.expire-after-write": ttl_ms,
        "lookup.partial-cache.cache-missing-key": values["lookup.cache.caching-missing-key"],
    }
