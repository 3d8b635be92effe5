"""What a streaming query becomes, and what is refused, without running anything."""

from __future__ import annotations

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

CSV = "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')"


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(
        "CREATE TABLE bids (item STRING, price INT, ts TIMESTAMP(3), "
        f"WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {CSV}"
    )
    env.execute_sql(
        "CREATE TABLE asks (item STRING, price INT, ts TIMESTAMP(3), "
        f"WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {CSV}"
    )
    return env


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("SELECT item, COUNT(*) FROM bids GROUP BY item", "Aggregate(groupBy=[item]"),
        ("SELECT DISTINCT item FROM bids", "Aggregate(groupBy=[item]"),
        ("SELECT * FROM bids b JOIN asks a ON a.item = b.item", "Join(joinType=[inner])"),
        (
            "SELECT * FROM bids b JOIN asks a ON a.item = b.item "
            "AND b.ts BETWEEN a.ts - INTERVAL '1' MINUTE AND a.ts",
            "IntervalJoin(joinType=[inner])",
        ),
        ("SELECT item FROM bids INTERSECT SELECT item FROM asks", "Intersect(all=[False])"),
        ("SELECT * FROM bids WHERE item IN (SELECT item FROM asks)", "Join(joinType=[semi])"),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS rn FROM bids) "
            "WHERE rn <= 2",
            "Rank(rankRange=[1, 2])",
        ),
        (
            "SELECT item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) AS rn FROM bids) "
            "WHERE rn = 1",
            "Deduplicate(keep=[LastRow])",
        ),
        (
            "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
            "GROUP BY window_start, window_end",
            "WindowAggregate(groupBy=[window_start, window_end]",
        ),
    ],
)
def test_a_query_becomes_the_operator_made_for_it(env: TableEnvironment, query: str, node: str) -> None:
    assert node in env.explain_sql(query)


def test_a_filter_needs_no_operator(env: TableEnvironment) -> None:
    text = env.explain_sql("SELECT UPPER(item) FROM bids WHERE price > 3")
    assert "Join" not in text.split("Optimized")[1]
    assert "changelogMode=[I]" in text


def test_an_aggregate_over_a_window_is_append_only_and_another_one_is_not(env: TableEnvironment) -> None:
    window = "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY "
    assert "Result(changelogMode=[I])" in env.explain_sql(window + "window_start, window_end")
    assert "Result(changelogMode=[I,UB,UA,D])" in env.explain_sql(window + "window_end")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM bids ORDER BY price", "non-time-attribute"),
        (
            "SELECT * FROM (SELECT *, RANK() OVER (PARTITION BY item ORDER BY price) AS r FROM bids) WHERE r < 3",
            "RANK",
        ),
        (
            "SELECT SUM(price) OVER (PARTITION BY item ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) "
            "FROM bids",
            "FOLLOWING",
        ),
        (
            "SELECT b.price FROM bids b JOIN asks FOR SYSTEM_TIME AS OF b.ts AS a ON a.item = b.item",
            "versioned table",
        ),
    ],
)
def test_what_streaming_cannot_do_is_refused_when_planned(
    env: TableEnvironment, query: str, message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        env.execute_sql(query)


def test_an_append_only_sink_refuses_updates_and_names_their_origin(env: TableEnvironment) -> None:
    env.execute_sql(f"CREATE TABLE totals (item STRING, n BIGINT) {CSV}")
    with pytest.raises(
        ValidationError, match=r"doesn't support consuming update.*Aggregate\(groupBy=\[item\]"
    ):
        env.execute_sql("INSERT INTO totals SELECT item, COUNT(*) FROM bids GROUP BY item")


def test_what_is_missing_is_said(env: TableEnvironment) -> None:
    with pytest.raises(NotSupportedError, match=r"LATERAL|correlated|outer"):
        env.execute_sql(
            "SELECT * FROM bids b, LATERAL (SELECT price FROM asks a WHERE a.item = b.item ORDER BY price LIMIT 1)"
        )


@pytest.mark.parametrize(
    ("calls", "is_split"),
    [
        ("COUNT(DISTINCT price)", True),
        ("COUNT(DISTINCT price), SUM(DISTINCT price), COUNT(*), MAX(ts)", True),
        ("COUNT(price)", False),
        ("MAX(DISTINCT price)", False),
        ("COUNT(DISTINCT price), AVG(price)", False),
        ("COUNT(DISTINCT price), COUNT(DISTINCT ts)", False),
        ("COUNT(DISTINCT CAST(price AS DOUBLE))", False),
    ],
)
def test_groups_are_split_where_their_parts_can_be_put_together(
    env: TableEnvironment, calls: str, is_split: bool
) -> None:
    query = f"SELECT item, {calls} FROM bids GROUP BY item"
    assert "groupBy=[item, $bucket]" not in env.explain_sql(query)
    env.get_config().set("table.optimizer.distinct-agg.split.enabled", "true")
    assert ("groupBy=[item, $bucket]" in env.explain_sql(query)) == is_split


@pytest.mark.parametrize("number", ["0", "-3", "many"])
def test_a_number_of_buckets_that_makes_none_is_refused(env: TableEnvironment, number: str) -> None:
    env.get_config().set("table.optimizer.distinct-agg.split.enabled", "true")
    env.get_config().set("table.optimizer.distinct-agg.split.bucket-num", number)
    with pytest.raises(ValidationError, match=f"'{number}' for option .*bucket-num.*at least 1"):
        env.explain_sql("SELECT item, COUNT(DISTINCT price) FROM bids GROUP BY item")


def test_a_source_that_repeats_itself_is_read_with_its_key(env: TableEnvironment) -> None:
    from penstock.sql.dialect.statement_parser import parse_query
    from penstock.sql.streaming.physical import ScanNode
    from penstock.sql.streaming.planner import Planner

    env.execute_sql(
        "CREATE TABLE changes (id INT, v INT, w INT, PRIMARY KEY (id) NOT ENFORCED) "
        "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'debezium-json')"
    )
    planner = Planner({"table.exec.source.cdc-events-duplicate": "true"})
    planner.query(env._session.bind(parse_query("SELECT v FROM changes"), ""))
    assert [node.columns for node in planner.nodes if isinstance(node, ScanNode)] == [("id", "v")]
