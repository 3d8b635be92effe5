"""Streaming INSERTs into tables that go by their primary key: the last change of a key is what stays.

No Spark: the tasks run in this process, with three subtasks and the epochs that the script says.
"""

from __future__ import annotations

import pathlib
import random
from typing import Any

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.testing.source import ABORT, PAUSE
from tests.connectors.jdbc.jdbc_tables import SqliteFile
from tests.connectors.scripted import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, in_this_process, play

Changes = list[tuple[Any, ...]]


@pytest.fixture
def db(tmp_path: pathlib.Path) -> SqliteFile:
    db = SqliteFile(tmp_path / "shop.db")
    db.execute("CREATE TABLE target (id TEXT PRIMARY KEY, amount INTEGER)")
    return db


@pytest.fixture
def env(db: SqliteFile) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "3")
    env.get_config().set("restart-strategy.type", "fixed-delay")
    env.get_config().set("restart-strategy.fixed-delay.delay", "1 ms")
    env.execute_sql(
        "CREATE TABLE target (id STRING, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = '{db.url}', 'table-name' = 'target')"
    )
    return env


def declare(env: TableEnvironment, name: str, columns: str, splits: list[Changes], changelog: bool) -> None:
    play(name, splits)
    options = f"'connector' = 'scripted', 'script' = '{name}', 'changelog' = '{str(changelog).lower()}'"
    env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({options})")


def insert(env: TableEnvironment, query: str) -> None:
    with in_this_process():
        env.execute_sql(f"INSERT INTO target {query}").wait()


def target(db: SqliteFile) -> list[tuple[Any, ...]]:
    return db.execute("SELECT id, amount FROM target ORDER BY id")


KEYED = "id STRING, customer STRING NOT NULL, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED"


class Orders:
    """Random changes of a keyed table, and what it holds in the end."""

    def __init__(self, seed: int, keys: list[str]) -> None:
        self._random = random.Random(seed)
        self._keys = keys
        self.rows: dict[str, tuple[str, str, int]] = {}

    def changes(self, count: int, pauses: int = 20) -> Changes:
        found: Changes = []
        for i in range(count):
            found += self._change(self._random.choice(self._keys))
            if i % pauses == pauses - 1:
                found.append(PAUSE)
        return found

    def _change(self, key: str) -> Changes:
        now = self.rows.get(key)
        if now is not None and self._random.random() < 0.3:
            del self.rows[key]
            return [(*now, DELETE)]
        new = self.rows[key] = (key, self._random.choice("abcdefg"), self._random.randrange(100))
        return [(*new, INSERT)] if now is None else [(*now, UPDATE_BEFORE), (*new, UPDATE_AFTER)]


def orders(seed: int, splits: int) -> tuple[list[Changes], list[tuple[str, str, int]]]:
    """Each split has keys of its own, as the partitions of a log do."""
    made = [Orders(seed * 10 + split, [f"k{split}-{i}" for i in range(8)]) for split in range(splits)]
    scripts = [source.changes(120) for source in made]
    return scripts, sorted(row for source in made for row in source.rows.values())


def test_the_last_change_of_a_key_stays(env: TableEnvironment, db: SqliteFile) -> None:
    scripts, rows = orders(1, 3)
    declare(env, "orders", KEYED, scripts, changelog=True)
    insert(env, "SELECT id, amount FROM orders")
    assert target(db) == [(key, amount) for key, _, amount in rows]


def test_an_epoch_that_is_repeated_changes_nothing(env: TableEnvironment, db: SqliteFile) -> None:
    scripts, rows = orders(2, 3)
    scripts[0].insert(100, ABORT)
    declare(env, "orders", KEYED, scripts, changelog=True)
    insert(env, "SELECT id, amount FROM orders")
    assert target(db) == [(key, amount) for key, _, amount in rows]


def test_a_row_that_no_longer_fulfils_the_condition_is_gone(env: TableEnvironment, db: SqliteFile) -> None:
    scripts, rows = orders(3, 3)
    declare(env, "orders", KEYED, scripts, changelog=True)
    insert(env, "SELECT id, amount FROM orders WHERE amount > 50")
    assert target(db) == [(key, amount) for key, _, amount in rows if amount > 50]


def test_a_group_that_no_longer_fulfils_having_is_gone(env: TableEnvironment, db: SqliteFile) -> None:
    scripts, rows = orders(4, 3)
    declare(env, "orders", KEYED, scripts, changelog=True)
    insert(env, "SELECT customer, SUM(amount) FROM orders GROUP BY customer HAVING SUM(amount) > 100")
    sums: dict[str, int] = {}
    for _, customer, amount in rows:
        sums[customer] = sums.get(customer, 0) + amount
    assert target(db) == sorted((c, n) for c, n in sums.items() if n > 100)


@pytest.mark.parametrize("seed", range(5, 11))
def test_a_row_that_moves_between_subtasks_is_the_one_it_is_now(
    env: TableEnvironment, db: SqliteFile, seed: int
) -> None:
    """A semi join brings rows together by another column than the key of the sink."""
    scripts, rows = orders(seed, 3)
    declare(env, "orders", KEYED, scripts, changelog=True)
    declare(env, "customers", "name STRING", [[(c,) for c in "abcd"]], changelog=False)
    insert(env, "SELECT id, amount FROM orders WHERE customer IN (SELECT name FROM customers)")
    assert target(db) == [(key, amount) for key, customer, amount in rows if customer in "abcd"]


@pytest.mark.parametrize("seed", range(11, 15))
def test_rows_of_a_join_are_those_that_are_there(env: TableEnvironment, db: SqliteFile, seed: int) -> None:
    scripts, rows = orders(seed, 3)
    declare(env, "orders", KEYED, scripts, changelog=True)
    declare(env, "rates", "name STRING, rate BIGINT", [[(c, i) for i, c in enumerate("abcd")]], False)
    insert(env, "SELECT id, amount * rate FROM orders JOIN rates ON customer = name")
    rate = {c: i for i, c in enumerate("abcd")}
    assert target(db) == [(key, amount * rate[c]) for key, c, amount in rows if c in rate]
