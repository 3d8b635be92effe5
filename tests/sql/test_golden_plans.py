"""EXPLAIN of queries whose plans matter, compared with `golden/`; PENSTOCK_WRITE_GOLDEN=1 writes it anew.

Nexmark's queries are those that `benchmarks/nexmark.py` measures, over the same tables at the same parallelism; their
texts are in `benchmarks/nexmark/queries`, and only there.
"""

from __future__ import annotations

import os
import pathlib

import pytest

from benchmarks.nexmark.scripts import BLACKHOLE, QUERIES, statements
from penstock.table import EnvironmentSettings, TableEnvironment

GOLDEN = pathlib.Path(__file__).parent / "golden"
STORED = "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json')"
NEXMARK_PLACES = {
    "source": "'connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'parquet'",
    "sink": BLACKHOLE,
    "output": "/nowhere/else",
    "file_format": "csv",
    "side_input": "/nowhere/at/all",
}
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
    compare(env.explain_sql(path.read_text()), path.with_suffix(".plan"))


@pytest.mark.parametrize("query", [query for query in QUERIES if query != "q6"])
def test_the_plan_of_nexmark_is_the_golden_one(query: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "2")
    *tables, insert = statements(query, "penstock", NEXMARK_PLACES)
    for statement in tables:
        env.execute_sql(statement)
    compare(env.explain_sql(insert), GOLDEN / "nexmark" / f"{query}.plan")


def compare(explained: str, golden: pathlib.Path) -> None:
    text = explained.partition("\n\n== Optimized Execution Plan ==\n")[2]
    if os.environ.get("PENSTOCK_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
