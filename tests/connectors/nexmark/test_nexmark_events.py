"""The events of Nexmark: what they are, by their numbers alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.connectors.nexmark.clock import EventClock
from penstock.connectors.nexmark.configuration import NexmarkConfiguration
from penstock.connectors.nexmark.events import FIELDS, Events, struct_column

COUNT = 200_000


def column(name: str, numbers: np.ndarray, **config: int) -> pa.StructArray:
    wanted = [(field, True) for field in FIELDS[name]]
    return struct_column(Events(numbers, NexmarkConfiguration(**config)), name, wanted)  # type: ignore[arg-type]


def bids(**config: int) -> dict[str, np.ndarray]:
    found = column("bid", np.arange(COUNT), **config).drop_null()
    return {f: found.field(f).to_numpy(zero_copy_only=False) for f in ("auction", "bidder", "price")}


def test_kinds_come_in_rounds_by_their_proportions() -> None:
    events = Events(
        np.arange(12), NexmarkConfiguration(person_proportion=1, auction_proportion=2, bid_proportion=3)
    )
    assert events.kinds.tolist() == [0, 1, 1, 2, 2, 2] * 2
    usual = np.bincount(Events(np.arange(50_000), NexmarkConfiguration()).kinds)
    assert usual.tolist() == [1_000, 3_000, 46_000]


@pytest.mark.parametrize("name", list(FIELDS))
def test_an_event_is_the_same_whoever_makes_it(name: str) -> None:
    together = column(name, np.arange(1_000, 1_100))
    for number in range(100):
        assert column(name, np.array([1_000 + number]))[0] == together[number]


def test_an_event_far_away_can_be_made_at_once() -> None:
    (bid,) = column("bid", np.array([40_000_000_004])).to_pylist()
    newest = 40_000_000_004 // 50 * 3 + 2
    assert 1_000 + newest - 100 <= bid["auction"] <= 1_000 + newest + 10


def test_ids_of_people_and_auctions_count_without_gaps() -> None:
    for name, share in (("person", 1), ("auction", 3)):
        ids = column(name, np.arange(5_000)).drop_null().field("id").to_pylist()
        assert ids == list(range(1_000, 1_000 + 100 * share))


def test_half_of_the_bids_go_to_the_hot_auction_and_one_in_ratio_elsewhere() -> None:
    for ratio in (1, 2, 10):
        auctions = bids(hot_auction_ratio=ratio)["auction"]
        hot = np.mean(auctions % 100 == 0)
        assert hot == pytest.approx(1 - 1 / ratio, abs=0.02)


def test_hot_bidders_are_not_hot_sellers() -> None:
    bidders = bids()["bidder"]
    sellers = column("auction", np.arange(COUNT)).drop_null().field("seller").to_numpy()
    assert np.mean(bidders % 100 == 1) == pytest.approx(0.75, abs=0.02)
    assert np.mean(sellers % 100 == 0) == pytest.approx(0.75, abs=0.02)


def test_most_bids_find_their_auction_and_their_bidder() -> None:
    found = bids()
    assert found["auction"].min() >= 1_000
    assert np.mean(found["auction"] < 1_000 + COUNT // 50 * 3) > 0.999
    assert np.mean(found["bidder"] < 1_000 + COUNT // 50) > 0.99


def test_prices_are_spread_over_six_orders_of_magnitude() -> None:
    prices = bids()["price"]
    assert prices.min() >= 100 and prices.max() <= 100_000_000
    for edge in range(6):
        low, high = 100 * 10**edge, 1_000 * 10**edge
        assert np.mean((prices >= low) & (prices < high)) == pytest.approx(1 / 6, abs=0.01)


def test_channels_are_hot_or_have_an_id_in_their_url_mostly() -> None:
    found = column("bid", np.arange(COUNT)).drop_null()
    hot = pc.is_in(found.field("channel"), pa.array(["Google", "Facebook", "Baidu", "Apple"])).to_numpy(False)
    has_id = pc.match_substring_regex(found.field("url"), r"&channel_id=\d+$").to_numpy(False)
    assert np.mean(hot) == pytest.approx(0.5, abs=0.01)
    assert not np.any(hot & has_id)
    assert np.mean(has_id[~hot]) == pytest.approx(0.9, abs=0.02)
    assert pc.count_substring(found.field("url"), "/").unique().to_pylist() == [6]


def test_events_have_their_average_size() -> None:
    for size in (0, 60, 200):
        extra = column("bid", np.arange(COUNT), bid_avg_size=size).drop_null().field("extra")
        assert pc.mean(pc.utf8_length(extra)).as_py() == pytest.approx(max(0, size - 32), rel=0.02)


def test_auctions_end_when_about_a_hundred_newer_ones_have_begun() -> None:
    found = column("auction", np.arange(COUNT)).drop_null()
    length = pc.subtract(found.field("expires"), found.field("dateTime")).cast(pa.int64()).to_numpy() / 1_000
    assert length.min() >= 1
    assert length.mean() == pytest.approx(100 * 50 / 3 / 10, rel=0.05)  # ms: 10,000 events per second


def test_proportions_of_zero_leave_a_kind_out() -> None:
    assert column("person", np.arange(100), person_proportion=0).null_count == 100
    only = column("bid", np.arange(100), person_proportion=0, auction_proportion=0, bid_proportion=1)
    assert only.null_count == 0 and min(only.field("bidder").to_pylist()) >= 1_000


def test_pruned_fields_are_null() -> None:
    events = Events(np.arange(50), NexmarkConfiguration())
    made = struct_column(events, "bid", [("price", True), ("extra", False)])
    assert made.drop_null().field("extra").null_count == 46
    assert made.drop_null().field("price").null_count == 0


@pytest.mark.parametrize(
    "clock", [EventClock(5, (7,), 1), EventClock(1_000, (10, 3), 2), EventClock(0, (3, 9, 1), 1)]
)
def test_the_clock_never_goes_back_and_can_be_turned_round(clock: EventClock) -> None:
    times = clock.times_ms(np.arange(200))
    assert np.all(np.diff(times) >= 0) and times[0] == clock.base_ms
    for moment in range(clock.base_ms - 3, int(times[-1])):
        assert clock.events_before(moment) == int(np.sum(times < moment))


def test_the_rate_follows_its_shape() -> None:
    config = NexmarkConfiguration(
        first_event_rate=100, next_event_rate=10, rate_shape="SINE", rate_period_s=100, base_time_ms=0
    )
    seconds = np.bincount(config.clock.times_ms(np.arange(11_000)) // 1000)
    assert seconds[:10].tolist() == [100] * 10
    assert seconds[50:60].tolist() == [10] * 10
    assert seconds[100:110].tolist() == [100] * 10
