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
