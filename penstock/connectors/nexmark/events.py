"""Events by their numbers, in columns: who registers, what is sold, who bids on what.

Events come in rounds of `person + auction + bid` proportions, people first. So the newest person and auction at
an event follow from its number, and bids and auctions can refer to those that are there without any memory:

    hot       the first auction of every 100 takes most of the bids while its hundred is the newest; the first person
              of every 100 sells most of the items, the second makes most of the bids
    cold      any of the last 100 auctions or 1,000 people, or one of the 10 that come next
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.nexmark import texts
from penstock.connectors.nexmark.clock import Integers
from penstock.connectors.nexmark.configuration import NexmarkConfiguration
from penstock.connectors.nexmark.dice import below, fractions

PERSON, AUCTION, BID = 0, 1, 2

FIRST_ID = 1_000  # of people and of auctions
FIRST_CATEGORY, CATEGORIES = 10, 5
GROUP = 100  # one of so many people or auctions is hot
IN_FLIGHT = 100  # auctions that still get bids
ACTIVE_PEOPLE = 1_000
LEAD = 10  # ids that are referred to although they come later

_BYTES_BESIDE_EXTRA = {"person": 65, "auction": 110, "bid": 32}


@dataclass(frozen=True)
class Events:
    """Some events, all of one kind or of any; what is the same for all kinds."""

    numbers: Integers
    config: NexmarkConfiguration

    @cached_property
    def offsets(self) -> Integers:
        """The places of the events in their rounds."""
        places: Integers = self.numbers % self.config.round_length
        return places

    @cached_property
    def kinds(self) -> Integers:
        people, sales = self.config.person_proportion, self.config.auction_proportion
        after_people = (self.offsets >= people).astype(np.int64)
        kinds: Integers = after_people + (self.offsets >= people + sales)
        return kinds

    @cached_property
    def newest_person(self) -> Integers:
        """How many people there were before the newest one."""
        share = self.config.person_proportion
        rounds = self.numbers // self.config.round_length
        return np.maximum(rounds * share + np.minimum(self.offsets, share - 1), 0)

    @cached_property
    def newest_auction(self) -> Integers:
        """How many auctions there were before the newest one."""
        share = self.config.auction_proportion
        rounds = self.numbers // self.config.round_length
        place = np.clip(self.offsets - self.config.person_proportion, -1, share - 1)
        return np.maximum(rounds * share + place, 0)

    @cached_property
    def times_ms(self) -> Integers:
        return self.config.clock.times_ms(self.numbers)

    def roll(self, die: str, bound: int | Integers) -> Integers:
        return below(self.numbers, die, bound)

    def pick(self, die: str, pool: pa.Array) -> pa.Array:
        return pool.take(pa.array(self.roll(die, len(pool))))

    def any_person(self, die: str) -> Integers:
        people = self.newest_person + 1
        active = np.minimum(people, ACTIVE_PEOPLE)
        chosen: Integers = people - active + self.roll(die, active + LEAD)
        return chosen

    def any_auction(self, die: str) -> Integers:
        oldest = np.maximum(self.newest_auction - IN_FLIGHT, 0)
        chosen: Integers = oldest + self.roll(die, self.newest_auction - oldest + 1 + LEAD)
        return chosen

    def hot_or_cold(self, die: str, ratio: int, hot: Integers, cold: Integers) -> pa.Array:
        """Ids, of which all but one in `ratio` are hot."""
        return pa.array(FIRST_ID + np.where(self.roll(f"{die} hot", ratio) > 0, hot, cold))

    def price(self, die: str) -> Integers:
        """From 1 to a million dollars in cents, as many between 1 and 10 as between 10 and 100."""
        cents: Integers = np.round(10.0 ** (fractions(self.numbers, die) * 6) * 100).astype(np.int64)
        return cents

    def extra(self, kind: str, size: int) -> pa.Array:
        return self.pick(f"{kind} extra", texts.extras(f"{kind} extra", size - _BYTES_BESIDE_EXTRA[kind]))


Field = Callable[[Events], pa.Array]


def _timestamps(times_ms: Integers) -> pa.Array:
    return pa.array(times_ms * 1000).view(pa.timestamp("us"))


def _date_time(events: Events) -> pa.Array:
    return _timestamps(events.times_ms)


# -- people


def _name(events: Events) -> pa.Array:
    first = events.pick("first name", texts.pool(texts.FIRST_NAMES))
    last = events.pick("last name", texts.pool(texts.LAST_NAMES))
    return pc.binary_join_element_wise(first, last, " ")


def _email(events: Events) -> pa.Array:
    name = events.pick("mail name", texts.words("mail name", 8_192, 7))
    host = events.pick("mail host", texts.words("mail host", 8_192, 5))
    return pc.binary_join_element_wise(name, "@", host, ".com", "")


def _credit_card(events: Events) -> pa.Array:
    parts = [events.pick(f"card {part}", texts.four_digits()) for part in range(4)]
    return pc.binary_join_element_wise(*parts, " ")


# -- auctions


def _reserve(events: Events) -> pa.Array:
    return pa.array(events.price("initial bid") + events.price("reserve"))


def _expires(events: Events) -> pa.Array:
    """On average when the auctions that may get bids now have all been followed by newer ones."""
    config = events.config
    ahead = IN_FLIGHT * config.round_length // max(1, config.auction_proportion)
    horizon = config.clock.times_ms(events.numbers + ahead) - events.times_ms
    return _timestamps(events.times_ms + 1 + events.roll("length", np.maximum(horizon * 2, 1)))


def _seller(events: Events) -> pa.Array:
    hot = events.newest_person // GROUP * GROUP
    return events.hot_or_cold("seller", events.config.hot_sellers_ratio, hot, events.any_person("seller"))


# -- bids


def _auction(events: Events) -> pa.Array:
    hot = events.newest_auction // GROUP * GROUP
    return events.hot_or_cold("auction", events.config.hot_auction_ratio, hot, events.any_auction("auction"))


def _bidder(events: Events) -> pa.Array:
    hot = events.newest_person // GROUP * GROUP + 1
    return events.hot_or_cold("bidder", events.config.hot_bidders_ratio, hot, events.any_person("bidder"))


def _channel_numbers(events: Events) -> pa.Array:
    """Half of the bids come through one of the few hot channels."""
    hot = len(texts.HOT_CHANNELS)
    cold = hot + events.roll("cold channel", texts.COLD_CHANNELS)
    return pa.array(np.where(events.roll("channel is hot", 2) > 0, events.roll("hot channel", hot), cold))


FIELDS: Mapping[str, Mapping[str, tuple[pa.DataType, Field]]] = {
    "person": {
        "id": (pa.int64(), lambda e: pa.array(e.newest_person + FIRST_ID)),
        "name": (pa.string(), _name),
        "emailAddress": (pa.string(), _email),
        "creditCard": (pa.string(), _credit_card),
        "city": (pa.string(), lambda e: e.pick("city", texts.pool(texts.CITIES))),
        "state": (pa.string(), lambda e: e.pick("state", texts.pool(texts.STATES))),
        "dateTime": (pa.timestamp("us"), _date_time),
        "extra": (pa.string(), lambda e: e.extra("person", e.config.person_avg_size)),
    },
    "auction": {
        "id": (pa.int64(), lambda e: pa.array(e.newest_auction + FIRST_ID)),
        "itemName": (pa.string(), lambda e: e.pick("item", texts.words("item", 16_384, 20))),
        "description": (
            pa.string(),
            lambda e: e.pick("description", texts.words("description", 16_384, 100)),
        ),
        "initialBid": (pa.int64(), lambda e: pa.array(e.price("initial bid"))),
        "reserve": (pa.int64(), _reserve),
        "dateTime": (pa.timestamp("us"), _date_time),
        "expires": (pa.timestamp("us"), _expires),
        "seller": (pa.int64(), _seller),
        "category": (pa.int64(), lambda e: pa.array(FIRST_CATEGORY + e.roll("category", CATEGORIES))),
        "extra": (pa.string(), lambda e: e.extra("auction", e.config.auction_avg_size)),
    },
    "bid": {
        "auction": (pa.int64(), _auction),
        "bidder": (pa.int64(), _bidder),
        "price": (pa.int64(), lambda e: pa.array(e.price("price"))),
        "channel": (pa.string(), lambda e: texts.channels()[0].take(_channel_numbers(e))),
        "url": (pa.string(), lambda e: texts.channels()[1].take(_channel_numbers(e))),
        "dateTime": (pa.timestamp("us"), _date_time),
        "extra": (pa.string(), lambda e: e.extra("bid", e.config.bid_avg_size)),
    },
}
"""The columns of ROW type: their fields, of which type, and what makes them. A field is a function of the events,
so those that nobody wants are not made."""

KIND_OF = {"person": PERSON, "auction": AUCTION, "bid": BID}


def struct_column(events: Events, name: str, wanted: Sequence[tuple[str, bool]]) -> pa.Array:
    """A column of ROW type: NULL for events of another kind.

    Args:
        wanted: Its fields in order, and whether each is to be made or stays NULL.
    """
    mine = events.kinds == KIND_OF[name]
    own = Events(events.numbers[mine], events.config)
    arrays, types = [], FIELDS[name]
    for field, made in wanted:
        made_type, make = types[field]
        arrays.append(make(own) if made else pa.nulls(len(own.numbers), made_type))
    dense = pa.StructArray.from_arrays(arrays, names=[field for field, _ in wanted])
    places = np.cumsum(mine) - 1
    return dense.take(pa.array(places, mask=~mine))
