"""The options of `http` tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.http.client import HttpSettings
from penstock.connectors.lookup import LOOKUP_OPTIONS
from penstock.connectors.option_values import at_least, millis
from penstock.connectors.request_table import BATCH_OPTIONS
from penstock.formats.base import Option, boolean, one_of

HEADERS = "headers."

OPTIONS = (
    Option("url", required=True),
    Option("format", str, "json"),
    Option("username"),
    Option("password"),
    Option("connection.timeout", millis, 10_000),
    Option("request.timeout", millis, 30_000),
    Option("ssl.ca-file"),
    Option("allow-insecure", boolean, False),
    Option("insert-method", one_of("POST", "PUT", "PATCH"), "POST"),
    Option("delete-method", one_of("DELETE", "POST", "PUT", "PATCH"), "DELETE"),
    Option("sink.request-mode", one_of("single", "batch"), "single"),
    *BATCH_OPTIONS,
    Option("lookup.method", one_of("GET", "POST"), "GET"),
    *LOOKUP_OPTIONS,
    Option("lookup.retry-delay", millis, 100),
    Option("lookup.requests.max-inflight", at_least(1), 8),
)


def http_settings(values: Mapping[str, Any], raw: Mapping[str, str]) -> HttpSettings:
    if (values["username"] is None) != (values["password"] is None):
        raise ValidationError("'username' and 'password' must be set at the same time")
    return HttpSettings(
        headers=tuple((k[len(HEADERS) :], v) for k, v in sorted(raw.items()) if k.startswith(HEADERS)),
        username=values["username"],
        password=values["password"],
        connect_timeout_s=values["connection.timeout"] / 1000,
        read_timeout_s=values["request.timeout"] / 1000,
        ca_file=values["ssl.ca-file"],
        verify=not values["allow-insecure"],
    )
