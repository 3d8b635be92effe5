"""Lookup joins: FOR SYSTEM_TIME AS OF processing time with a table that can be asked by key."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.common.errors import ValidationError
from penstock.connectors.filesystem import table as connector
from penstock.connectors.filesystem.lookup import FileLookup
from penstock.connectors.lookup import CachePolicy, Lookup, LookupCache, LookupSource, Retry
from penstock.sql.streaming.lookups import retry_of
from penstock.table import EnvironmentSettings, TableEnvironment

FILES = "'connector' = 'filesystem', 'format' = 'csv'"
CACHED = "'lookup.cache' = 'FULL'"


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    (tmp_path / "orders.csv").write_text("1,ada\n2,bob\n3,eve\n")
    (tmp_path / "people.csv").write_text("ada,10\nbob,20\nada,30\n")
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(
        "CREATE TABLE orders (id INT, name STRING, p AS PROCTIME()) "
        f"WITH ({FILES}, 'path' = '{(tmp_path / 'orders.csv').as_uri()}')"
    )
    for table, option in (("people", f", {CACHED}"), ("plain", "")):
        env.execute_sql(
            f"CREATE TABLE {table} (name STRING, age INT, twice AS age * 2, known AS 'yes') "
            f"WITH ({FILES}, 'path' = '{(tmp_path / 'people.csv').as_uri()}'{option})"
        )
    return env


def rows(env: TableEnvironment, sql: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(sql).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


@pytest.mark.spark
def test_an_inner_join_gives_the_rows_of_each_key(env: TableEnvironment) -> None:
    found = rows(
        env,
        "SELECT o.id, x.age, x.twice FROM orders AS o JOIN people FOR SYSTEM_TIME AS OF o.p AS x "
        "ON o.name = x.name AND x.twice > o.id + 20",
    )
    assert found == [(1, 30, 60), (2, 20, 40)]


@pytest.mark.spark
def test_a_left_join_keeps_rows_without_a_match_and_computes_nothing_for_them(env: TableEnvironment) -> None:
    found = rows(
        env,
        "SELECT /*+ LOOKUP('table'='x', 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay', "
        "'fixed-delay'='1ms', 'max-attempts'='2') */ o.id, x.age, x.known "
        "FROM orders AS o LEFT JOIN people FOR SYSTEM_TIME AS OF o.p AS x ON o.name = x.name AND x.age < 25",
    )
    assert found == [(1, 10, "yes"), (2, 20, "yes"), (3, None, None)]


@pytest.mark.parametrize("hint", ["", "/*+ LOOKUP('table'='zz') */"], ids=["table", "hint"])
def test_what_cannot_be_looked_up_is_refused_when_planned(env: TableEnvironment, hint: str) -> None:
    with pytest.raises(ValidationError):
        env.explain_sql(
            f"SELECT {hint} o.id FROM orders AS o JOIN plain FOR SYSTEM_TIME AS OF o.p AS x ON o.name = x.name"
        )


def test_a_hint_says_how_often_a_miss_is_asked_again() -> None:
    hint = {"retry-predicate": "lookup_miss", "retry-strategy": "fixed_delay", "fixed-delay": "2s",
            "max-attempts": "3", "async": "true"}  # fmt: skip
    assert retry_of(tuple(hint.items())) == Retry(4, 2000)
    with pytest.raises(ValidationError, match="no option 'retries'"):
        retry_of((("retries", "3"),))


def test_a_cache_forgets_by_age_and_by_size() -> None:
    now = [0.0]
    cache = LookupCache(CachePolicy(max_rows=2, expire_after_write_ms=1000), lambda: now[0])
    cache.put(("a",), [(1,)])
    cache.put(("b",), [])
    assert (cache.get(("a",)), cache.get(("b",))) == ([(1,)], [])
    cache.put(("c",), [(3,)])
    assert (cache.get(("a",)), cache.get(("c",))) == (None, [(3,)])
    now[0] = 1.0
    assert cache.get(("c",)) is None


def test_a_cache_may_leave_out_keys_that_have_no_rows() -> None:
    cache = LookupCache(CachePolicy(missing_keys=False))
    cache.put(("a",), [])
    assert cache.get(("a",)) is None


class Asked(LookupSource):
    """Answers from a dict and writes down what happens to it."""

    def __init__(self, rows: dict[Any, Any]) -> None:
        self.rows = rows
        self.events: list[Any] = []

    def open(self) -> None:
        self.events.append("open")

    def lookup(self, keys: Any) -> Any:
        self.events.append([key[0] for key in keys])
        return [self.rows.get(key[0], []) for key in keys]

    def close(self) -> None:
        self.events.append("close")


def test_a_lookup_asks_for_what_its_cache_does_not_know_and_again_for_what_was_not_found() -> None:
    source = Asked({"a": [(1,)], "b": [(2,)]})
    lookup = Lookup(source, CachePolicy(), Retry(attempts=2))
    lookup.open()
    assert lookup.answers([("a",)]) == {("a",): [(1,)]}
    assert lookup.answers([("a",), ("b",), ("c",)]) == {("a",): [(1,)], ("b",): [(2,)], ("c",): []}
    lookup.close()
    assert source.events == ["open", ["a"], ["b", "c"], ["c"], "close"]


def test_a_source_that_could_not_be_opened_is_closed() -> None:
    class Failing(Asked):
        def open(self) -> None:
            super().open()
            raise OSError("no connection")

    source = Failing({})
    with pytest.raises(OSError, match="no connection"):
        Lookup(source).open()
    assert source.events == ["open", "close"]


@pytest.mark.spark
def test_the_table_is_closed_in_the_workers_when_the_query_is_over(
    env: TableEnvironment, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "closed.log"

    class Logging(FileLookup):
        def close(self) -> None:
            with open(log, "a") as file:
                file.write("closed\n")

    monkeypatch.setattr(connector, "FileLookup", Logging)
    sql = "SELECT o.id, x.age FROM orders AS o JOIN people FOR SYSTEM_TIME AS OF o.p AS x ON o.name = x.name"
    assert rows(env, sql) == [(1, 10), (1, 30), (2, 20)]
    assert log.read_text().splitlines().count("closed") >= 1
