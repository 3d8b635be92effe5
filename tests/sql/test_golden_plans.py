"""EXPLAIN of queries whose plans matter, compared with `golden/`; PENSTOCK_WRITE_GOLDEN=1 writes it anew."""

from __future__ import annotations

import os
import pathlib

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment

GOLDEN = pathlib.Path(__file__).parent / "golden"
STORED = "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json')"
TABLES = (
    "kind INT, person ROW<id BIGINT, name STRING, email STRING, state STRING>, "
    "auction ROW<id BIGINT, item STRING, about STRING, expires TIMESTAMP(3), seller BIGINT, category BIGINT>, "
    "bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, url STRING>, ts TIMESTAMP(3), "
    "WATERMARK FOR ts AS ts - INTERVAL '4' SECOND"
)
VIEWS = {
    "persons": "SELECT person.id, person.name, person.email, person.state, ts FROM events WHERE kind = 0",
    "auctions": "SELECT auction.id, auction.item, auction.about, auction.expires, auction.seller, auction.category, "
    "ts FROM events WHERE kind = 1",
    "bids": "SELECT bid.auction, bid.bidder, bid.price, bid.url, ts FROM events WHERE kind = 2",
    "ranked": "SELECT a.id, a.item, a.about, b.price, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC) "
    "AS place FROM auctions a, bids b WHERE a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires",
}


@pytest.fixture(scope="module")
def env() -> TableEnvironment:
    """One interleaved table of persons, auctions and bids, and a view of each."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(f"CREATE TABLE events ({TABLES}) {STORED}")
    for name, query in VIEWS.items():
        env.execute_sql(f"CREATE VIEW {name} AS {query}")
    return env


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.sql")), ids=lambda path: path.stem)
def test_the_plan_is_the_golden_one(env: TableEnvironment, path: pathlib.Path) -> None:
    text = env.explain_sql(path.read_text()).partition("\n\n== Optimized Execution Plan ==\n")[2]
    golden = path.with_suffix(".plan")
    if os.environ.get("PENSTOCK_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
