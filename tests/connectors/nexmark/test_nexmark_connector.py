"""`'connector' = 'nexmark'`: its options, its columns, and Nexmark's scripts through the planner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.errors import ValidationError
from penstock.connectors.nexmark.table import NexmarkConnector
from penstock.connectors.registry import find_connector

TABLE = """
CREATE TABLE datagen (
    event_type int,
    person ROW<id BIGINT, name VARCHAR, emailAddress VARCHAR, creditCard VARCHAR, city VARCHAR, state VARCHAR,
        `dateTime` TIMESTAMP(3), extra VARCHAR>,
    auction ROW<id BIGINT, itemName VARCHAR, description VARCHAR, initialBid BIGINT, reserve BIGINT,
        `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra VARCHAR>,
    bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, `dateTime` TIMESTAMP(3),
        extra VARCHAR>,
    `dateTime` AS CASE WHEN event_type = 0 THEN person.`dateTime` WHEN event_type = 1 THEN auction.`dateTime`
        ELSE bid.`dateTime` END,
    WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
    'connector' = 'nexmark', 'first-event.rate' = '100', 'next-event.rate' = '100', 'events.num' = '5000',
    'person.proportion' = '1', 'auction.proportion' = '3', 'bid.proportion' = '46', 'keep-alive' = 'false',
    'stop-at' = '-1', 'max-emit-speed' = 'true'
)"""
VIEW = """
CREATE VIEW bid AS
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, `dateTime`, bid.extra FROM datagen
WHERE event_type = 2"""


def connector(**options: str) -> NexmarkConnector:
    named = {key.replace("__", "-").replace("_", "."): value for key, value in options.items()}
    found = find_connector({"connector": "nexmark", **named}, "cat.db.t")
    assert isinstance(found, NexmarkConnector)
    return found


def test_options_have_the_defaults_of_nexmark() -> None:
    config = connector().config
    assert (config.first_event_rate, config.person_proportion, config.auction_proportion) == (10_000, 1, 3)
    assert (config.bid_proportion, config.hot_auction_ratio, config.hot_bidders_ratio) == (46, 2, 4)
    assert (config.person_avg_size, config.auction_avg_size, config.bid_avg_size) == (200, 500, 100)
    assert config.event_count is None and not config.paced


def test_options_are_read_as_flink_reads_them() -> None:
    config = connector(
        rate_shape="sine", rate_period="10 min", person_avg__size="1 kb", rate_limited="true"
    ).config
    assert (config.rate_shape, config.rate_period_s, config.person_avg_size) == ("SINE", 600, 1_024)
    assert config.paced and connector(max__emit__speed="false").config.paced
    assert connector(base__time="2026-01-01").config.base_time_ms == 1_767_225_600_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"events_num": "-1"}, r"'events\.num' must be from 0 to .*, got -1"),
        ({"events_num": "many"}, r"invalid value 'many' for option 'events\.num'"),
        ({"first__event_rate": "0"}, r"'first-event\.rate' must be from 1"),
        ({"next__event_rate": "-5"}, r"'next-event\.rate' must be from 1"),
        ({"bid_proportion": "-46"}, r"'bid\.proportion' must be from 0"),
        ({"person_proportion": "0", "auction_proportion": "0", "bid_proportion": "0"}, "are all 0"),
        ({"bid_hot__ratio_auctions": "0"}, r"'bid\.hot-ratio\.auctions' must be from 1"),
        ({"auction_avg__size": "2 gb"}, r"'auction\.avg-size' must be from 0 to 1048576"),
        ({"rate_shape": "ROUND"}, "supported values are SQUARE, SINE"),
        ({"rate_period": "10 ms"}, r"'rate\.period' must be from 1"),
        ({"stop__at": "-2"}, r"'stop-at' must be from -1"),
        ({"keep__alive": "yes"}, "expected true or false"),
        ({"base__time": "2026-01-01T00:00:00+01:00"}, "no time zone"),
        ({"events_nun": "1"}, r"did you mean 'events\.num'"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message) as refused:
        connector(**options)
    assert "table cat.db.t" in str(refused.value)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("event_type INT, colour STRING", "no column 'colour'"),
        ("event_type STRING", "'event_type' of connector 'nexmark' is INT, not"),
        ("bid ROW<price DOUBLE>", r"'bid\.price' of connector 'nexmark' is BIGINT, not DOUBLE"),
        ("bid ROW<cost BIGINT>", r"no column 'bid\.cost'"),
        ("bid ROW<`dateTime` TIMESTAMP(0)>", r"'bid\.dateTime' of connector 'nexmark' is TIMESTAMP\(3\)"),
    ],
)
def test_columns_that_events_do_not_have_are_refused(
    make_table: Callable[..., Any], columns: str, message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        make_table(columns, {"connector": "nexmark", "events.num": "1"}).read()


@pytest.mark.spark
def test_a_table_may_have_some_of_the_columns_in_any_order(make_table: Callable[..., Any]) -> None:
    columns = "bid ROW<price BIGINT, auction BIGINT>, event_type INT"
    rows = make_table(columns, {"connector": "nexmark", "events.num": "50"}).read()
    assert [row[1] for row in rows].count(2) == 46
    assert all(row[0] is None or (row[0][0] >= 100 and row[0][1] >= 1_000) for row in rows)


@pytest.mark.spark
def test_the_published_table_and_views_run_as_streams(spark: Any) -> None:
    from penstock.table import EnvironmentSettings, TableEnvironment

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(TABLE)
    t_env.execute_sql(VIEW)
    windows = t_env.execute_sql(
        "SELECT window_start, COUNT(*), MIN(auction) FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), "
        "INTERVAL '10' SECOND)) GROUP BY window_start, window_end"
    ).collect()
    rows = sorted((str(row[0]), row[1]) for row in windows)
    assert [count for _, count in rows] == [920] * 5
    assert rows[0][0].startswith("2015-07-15")
