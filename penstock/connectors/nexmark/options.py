"""The options of a nexmark table: the names and defaults of Nexmark's own connector for Flink, and `base-time`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.config_values import parse_duration, parse_memory
from penstock.common.errors import ValidationError
from penstock.connectors.nexmark.configuration import BASE_TIME_MS, NexmarkConfiguration, OutOfRange
from penstock.formats.base import Option, boolean, one_of


def parse_base_time(text: str) -> int:
    """Milliseconds since 1970, of a number of them or of a date with or without time.

    >>> parse_base_time("2026-01-01 00:00:01.5"), parse_base_time("1500")
    (1767225601500, 1500)
    """
    if text.strip().isdigit():
        return int(text)
    moment = dt.datetime.fromisoformat(text.strip())
    if moment.tzinfo is not None:
        raise ValueError("event times have no time zone: leave it out")
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1)


def _seconds(text: str) -> int:
    return parse_duration(text).to_millis() // 1000


_NUMBERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "events.num": ("events", int),
    "first-event.rate": ("first_event_rate", int),
    "next-event.rate": ("next_event_rate", int),
    "rate.shape": ("rate_shape", one_of("SQUARE", "SINE")),
    "rate.period": ("rate_period_s", _seconds),
    "person.proportion": ("person_proportion", int),
    "auction.proportion": ("auction_proportion", int),
    "bid.proportion": ("bid_proportion", int),
    "person.avg-size": ("person_avg_size", parse_memory),
    "auction.avg-size": ("auction_avg_size", parse_memory),
    "bid.avg-size": ("bid_avg_size", parse_memory),
    "bid.hot-ratio.auctions": ("hot_auction_ratio", int),
    "bid.hot-ratio.bidders": ("hot_bidders_ratio", int),
    "auction.hot-ratio.sellers": ("hot_sellers_ratio", int),
    "stop-at": ("stop_at", int),
    "keep-alive": ("keep_alive", boolean),
}
"""The options that are attributes of the configuration: which, and how they are read."""

OPTIONS = (
    *(
        Option(key, parse, getattr(NexmarkConfiguration, attribute))
        for key, (attribute, parse) in _NUMBERS.items()
    ),
    Option("rate.limited", boolean, False),
    Option("max-emit-speed", boolean, True),
    Option("base-time", parse_base_time, BASE_TIME_MS),
)


def read_configuration(values: Mapping[str, Any]) -> NexmarkConfiguration:
    """The configuration of a table's options.

    Raises:
        ValidationError: An option is out of its range; the message has the option's name.
    """
    chosen = {attribute: values[key] for key, (attribute, _) in _NUMBERS.items()}
    paced = values["rate.limited"] or not values["max-emit-speed"]
    try:
        return NexmarkConfiguration(**chosen, paced=paced, base_time_ms=values["base-time"])
    except OutOfRange as error:
        key = next(key for key, (attribute, _) in _NUMBERS.items() if attribute == error.name)
        raise ValidationError(
            f"option '{key}' must be from {error.low} to {error.high}, got {error.value}"
        ) from None
