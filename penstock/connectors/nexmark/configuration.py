"""What can be chosen about the events, and what makes no sense."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

from penstock.common.errors import ValidationError
from penstock.connectors.nexmark.clock import EventClock

BASE_TIME_MS = 1_436_918_400_000
"""2015-07-15 00:00:00. A fixed moment, so that two reads of a table, and two runs, have the same events."""
SINE_STEPS = 10
MAX_RATE = 2**31 - 1
MAX_SIZE = 1 << 20
MAX_PROPORTION = 1_000_000
MAX_EVENTS = 2**48
"""Beyond that, event times would leave what a timestamp of microseconds can hold."""

_RANGES: dict[str, tuple[int, int]] = {
    "events": (0, MAX_EVENTS),
    "first_event_rate": (1, MAX_RATE),
    "next_event_rate": (1, MAX_RATE),
    "rate_period_s": (1, 1_000_000),
    "person_proportion": (0, MAX_PROPORTION),
    "auction_proportion": (0, MAX_PROPORTION),
    "bid_proportion": (0, MAX_PROPORTION),
    "person_avg_size": (0, MAX_SIZE),
    "auction_avg_size": (0, MAX_SIZE),
    "bid_avg_size": (0, MAX_SIZE),
    "hot_auction_ratio": (1, MAX_RATE),
    "hot_bidders_ratio": (1, MAX_RATE),
    "hot_sellers_ratio": (1, MAX_RATE),
    "stop_at": (-1, MAX_EVENTS),
}


@dataclass(frozen=True)
class NexmarkConfiguration:
    """The choices, with Nexmark's defaults.

    Attributes:
        events: How many; 0 for no end.
        first_event_rate: Events per second of event time, over all splits.
        next_event_rate: The other rate, if it is not always the same: see `rate_shape`.
        rate_shape: SQUARE, half of `rate_period_s` at the first rate and half at the next; SINE, from one to the
            other and back, in ten steps.
        person_proportion: How many of each `person + auction + bid` events are people; and so on.
        person_avg_size: About how many bytes an event has, by the length of its `extra`; and so on.
        hot_auction_ratio: All bids but one in so many go to a hot auction; 1 for none.
        stop_at: The source ends before this event although there are more; -1 for not.
        keep_alive: The source does not end after its last event.
        paced: Events come when they are due by their times, not as fast as they are wanted.
        base_time_ms: The time of event 0, in milliseconds since 1970.
    """

    events: int = 0
    first_event_rate: int = 10_000
    next_event_rate: int = 10_000
    rate_shape: Literal["SQUARE", "SINE"] = "SQUARE"
    rate_period_s: int = 600
    person_proportion: int = 1
    auction_proportion: int = 3
    bid_proportion: int = 46
    person_avg_size: int = 200
    auction_avg_size: int = 500
    bid_avg_size: int = 100
    hot_auction_ratio: int = 2
    hot_bidders_ratio: int = 4
    hot_sellers_ratio: int = 4
    stop_at: int = -1
    keep_alive: bool = False
    paced: bool = False
    base_time_ms: int = BASE_TIME_MS

    def __post_init__(self) -> None:
        for item in fields(self):
            low, high = _RANGES.get(item.name, (None, None))
            value = getattr(self, item.name)
            if low is not None and high is not None and not low <= value <= high:
                raise OutOfRange(item.name, value, low, high)
        if self.round_length == 0:
            raise ValidationError(
                "the proportions of people, auctions and bids are all 0", do="give one of them a share"
            )

    @property
    def round_length(self) -> int:
        """Events repeat their kinds after so many: people first, then auctions, then bids."""
        return self.person_proportion + self.auction_proportion + self.bid_proportion

    @property
    def event_count(self) -> int | None:
        """How many events there are; None for no end."""
        bounds = [
            n for n in (self.events or None, self.stop_at if self.stop_at >= 0 else None) if n is not None
        ]
        return min(bounds) if bounds else None

    @cached_property
    def clock(self) -> EventClock:
        first, following = self.first_event_rate, self.next_event_rate
        if first == following:
            return EventClock(self.base_time_ms, (first,), 1)
        if self.rate_shape == "SQUARE":
            rates: tuple[int, ...] = (first, following)
        else:
            middle, swing = (first + following) / 2, (first - following) / 2
            angles = (2 * math.pi * step / SINE_STEPS for step in range(SINE_STEPS))
            rates = tuple(max(1, round(middle + swing * math.cos(angle))) for angle in angles)
        return EventClock(self.base_time_ms, rates, -(-self.rate_period_s // len(rates)))


class OutOfRange(ValidationError):
    """A number that the configuration does not allow; `name` is that of the attribute."""

    def __init__(self, name: str, value: int, low: int, high: int) -> None:
        super().__init__(f"{name} must be from {low} to {high}, got {value}")
        self.name, self.value, self.low, self.high = name, value, low, high
