"""What EXPLAIN of a streaming query warns of, and what it tells about operators."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

GROUPS = "SELECT item, COUNT(*) AS n FROM bids GROUP BY item"
JOIN = "SELECT x.item FROM bids x JOIN bids y ON x.item = y.item"
WINDOWS = (
    "SELECT item, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
    "GROUP BY item, window_start, window_end"
)


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(
        "CREATE TABLE bids (item STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')"
    )
    return env


@pytest.mark.parametrize("query", [GROUPS, JOIN, "SELECT DISTINCT item FROM bids"])
def test_state_without_end_is_warned_of(env: TableEnvironment, query: str) -> None:
    assert "keeps its state for ever; advice: set 'table.exec.state.ttl'" in env.explain_sql(query)


@pytest.mark.parametrize("query", [WINDOWS, "SELECT COUNT(*) FROM bids", "SELECT item FROM bids"])
def test_state_that_is_bounded_is_not(env: TableEnvironment, query: str) -> None:
    assert "WARNING" not in env.explain_sql(query)


def test_a_hint_bounds_one_side_of_a_join(env: TableEnvironment) -> None:
    hinted = JOIN.replace("SELECT", "SELECT /*+ STATE_TTL('x' = '1d') */")
    assert "stateTtl=[86400000 ms, 0 ms]" in env.explain_sql(hinted)
    both = JOIN.replace("SELECT", "SELECT /*+ STATE_TTL('x' = '1d', 'y' = '2h') */")
    assert "WARNING" not in env.explain_sql(both)


def test_the_configuration_bounds_every_operator(env: TableEnvironment) -> None:
    env.get_config().set("table.exec.state.ttl", "1 h")
    for query in (GROUPS, JOIN):
        text = env.explain_sql(query)
        assert "WARNING" not in text and "3600000 ms" in text


def test_upsert_keys_and_changes_are_shown(env: TableEnvironment) -> None:
    assert "changelogMode=[I,UB,UA,D], upsertKeys=[[item]]" in env.explain_sql(GROUPS)


def test_a_value_that_changes_over_updates_is_warned_of_or_refused(env: TableEnvironment) -> None:
    query = f"SELECT item, n, UUID() FROM ({GROUPS})"
    assert "UUID may give another value when a row" in env.explain_sql(query)
    assert "UUID" not in env.explain_sql("SELECT item, UUID() FROM bids").partition("== Advice ==")[2]
    env.get_config().set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE")
    with pytest.raises(ValidationError, match="non-deterministic update"):
        env.explain_sql(query)


def test_plan_advice_says_so_if_there_is_none(env: TableEnvironment) -> None:
    rows = env.execute_sql(f"EXPLAIN CHANGELOG_MODE, PLAN_ADVICE, JSON_EXECUTION_PLAN {WINDOWS}").collect()
    text = next(iter(rows))[0]
    assert "No available advice" in text and '"predecessors"' in text


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        (JOIN, "left: every row (item) by (item), for ever; right: every row (item) by (item), for ever"),
        (GROUPS, "COUNT, a number of rows by (item), for ever"),
        (
            "SELECT COUNT(DISTINCT price) FROM bids",
            "COUNT, a number of rows at one subtask, for ever; every value (price) at one subtask, for ever",
        ),
        (
            f"SELECT MAX(n) FROM ({GROUPS})",
            "MAX, a number of rows at one subtask, for ever; every value for MAX (n) at one subtask, for ever",
        ),
        (WINDOWS, "COUNT, a number of rows by (item) and window, until the window ends"),
        (
            "SELECT x.item FROM bids x JOIN bids y ON x.item = y.item "
            "AND x.ts BETWEEN y.ts AND y.ts + INTERVAL '1' MINUTE",
            "left: every row (item, ts) by (item), until the watermark passes it; "
            "right: every row (item, ts) by (item), until the watermark is 60000 ms past it",
        ),
        (
            "SELECT item, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS n "
            "FROM bids) WHERE n <= 3",
            "3 rows (item, price) by (item), for ever",
        ),
        ("SELECT item FROM bids INTERSECT SELECT item FROM bids", "two numbers by (item), for ever"),
        (
            "SELECT item, SUM(price) OVER (PARTITION BY item ORDER BY ts) FROM bids",
            "every row (item, price, ts) by (item), until the watermark passes it; "
            "results so far by (item), for ever",
        ),
        (
            "SELECT item FROM bids ORDER BY ts",
            "every row (item, $sort0) at one subtask, until the watermark passes it",
        ),
    ],
)
def test_what_is_kept_is_told(env: TableEnvironment, query: str, kept: str) -> None:
    assert f"state=[{kept}]" in env.explain_sql(query)


def test_a_time_to_live_is_told(env: TableEnvironment) -> None:
    env.get_config().set("table.exec.state.ttl", "1 h")
    assert "by (item), until 3600000 ms without a change]" in env.explain_sql(GROUPS)


def test_values_of_a_single_group_are_warned_of_too(env: TableEnvironment) -> None:
    assert "for ever; advice: set" in env.explain_sql("SELECT COUNT(DISTINCT price) FROM bids")


def test_state_that_no_time_to_live_bounds_is_warned_of(env: TableEnvironment) -> None:
    text = env.explain_sql("SELECT item, SUM(price) OVER (PARTITION BY item ORDER BY ts) FROM bids")
    assert "for ever; no time to live applies to it; advice: see to it" in text


# --- sinks with a primary key -----------------------------------------------------------------------------

BY_ITEM = f"SELECT item, n FROM ({GROUPS})"
SWAPPED = f"SELECT CAST(n AS STRING), CAST(1 AS BIGINT) FROM ({GROUPS})"
PRICES = "SELECT price, COUNT(*) AS n FROM bids GROUP BY price"
JOINED = f"SELECT a.item, b.n FROM ({GROUPS}) a JOIN ({PRICES}) b ON a.n = b.n"


@pytest.fixture
def keyed(env: TableEnvironment) -> TableEnvironment:
    env.execute_sql(
        "CREATE TABLE kept (item STRING PRIMARY KEY NOT ENFORCED, n BIGINT) "
        "WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/nowhere', 'table-name' = 'kept')"
    )
    return env


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            SWAPPED,
            "but no columns of the query's result are known to be unique: SinkMaterializer keeps all rows",
        ),
        (
            JOINED,
            "because Join(joinType=[inner]) sends rows by (n), which Aggregate(groupBy=[item], select=[COUNT])",
        ),
    ],
)
def test_a_lost_key_is_warned_of(keyed: TableEnvironment, query: str, why: str) -> None:
    text = keyed.explain_sql(f"INSERT INTO kept {query}")
    assert "written by its primary key (item)" in text and why in text


def test_a_key_with_more_columns_is_warned_of(keyed: TableEnvironment) -> None:
    keyed.execute_sql(
        "CREATE TABLE by_n (item STRING, n BIGINT PRIMARY KEY NOT ENFORCED) "
        "WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/nowhere', 'table-name' = 'by_n')"
    )
    text = keyed.explain_sql(f"INSERT INTO by_n {GROUPS}")
    assert "told apart by (item), so several may have the same key: SinkMaterializer" in text
    assert "advice: make (item) its primary key, or group by (n)" in text


def test_a_sink_that_goes_by_the_key_of_its_rows_is_fine(keyed: TableEnvironment) -> None:
    for query in (BY_ITEM, "SELECT item, CAST(price AS BIGINT) FROM bids"):
        assert "primary key" not in keyed.explain_sql(f"INSERT INTO kept {query}")


def test_without_a_materializer_the_danger_is_told(keyed: TableEnvironment) -> None:
    keyed.get_config().set("table.exec.sink.upsert-materialize", "NONE")
    assert "taking one row back may remove another" in keyed.explain_sql(f"INSERT INTO kept {SWAPPED}")
