"""The options of `redis` tables, and what must hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.lookup import LOOKUP_OPTIONS
from penstock.connectors.option_values import at_least, millis
from penstock.connectors.redis.client import RedisAddress
from penstock.connectors.redis.layout import BY_KEY
from penstock.connectors.request_table import BATCH_OPTIONS
from penstock.formats.base import Option, one_of

OPTIONS = (
    Option("url", required=True),
    Option("username"),
    Option("password"),
    Option("connection.timeout", millis, 10_000),
    Option("ssl.ca-file"),
    Option("data-type", one_of("hash", "string", "list", "stream", "channel"), "hash"),
    Option("name"),
    Option("format"),
    Option("key.prefix", str, ""),
    Option("key.delimiter", str, ":"),
    Option("ttl", millis),
    Option("stream.max-length", at_least(1)),
    *BATCH_OPTIONS,
    *LOOKUP_OPTIONS,
)


def address(values: Mapping[str, Any]) -> RedisAddress:
    return RedisAddress(
        values["url"],
        values["username"],
        values["password"],
        values["connection.timeout"] / 1000,
        values["ssl.ca-file"],
    )


def check(values: Mapping[str, Any]) -> None:
    """Refuses options that do not go with the kind of data."""
    kind = values["data-type"]
    by_key = kind in BY_KEY
    if by_key and values["name"] is not None:
        raise ValidationError(f"a {kind} has a key for each row, and no 'name'", do="use 'key.prefix'")
    if not by_key and values["name"] is None:
        raise ValidationError(f"a {kind} needs a 'name'")
    if not by_key and (values["key.prefix"] or values["ttl"] is not None):
        raise ValidationError(f"'key.prefix' and 'ttl' are for {' and '.join(BY_KEY)}, not for a {kind}")
    if kind != "stream" and values["stream.max-length"] is not None:
        raise ValidationError(f"'stream.max-length' is for a stream, not for a {kind}")
    has_columns = kind in ("hash", "stream")
    if has_columns and values["format"] is not None:
        raise ValidationError(f"a {kind} has the columns as fields, and no 'format'")
    if not has_columns and values["format"] is None:
        raise ValidationError(f"a {kind} needs a 'format' for its rows", do="add 'format' = 'json'")
