"""UPDATE and DELETE in batch mode, on connectors that go by a primary key."""

from __future__ import annotations

import pathlib
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

KEY = "PRIMARY KEY (id) NOT ENFORCED"


def jdbc(folder: pathlib.Path) -> str:
    with sqlite3.connect(folder / "t.db") as database:
        database.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT, n BIGINT)")
    return f"'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{folder / 't.db'}', 'table-name' = 't'"


def delta(folder: pathlib.Path) -> str:
    pytest.importorskip("deltalake")
    return f"'connector' = 'delta', 'table-path' = '{folder / 't'}'"


def iceberg(folder: pathlib.Path) -> str:
    pytest.importorskip("pyiceberg")
    return (
        f"'connector' = 'iceberg', 'catalog-name' = 'c', 'uri' = 'sqlite:///{folder / 'c.db'}', "
        f"'warehouse' = 'file://{folder / 'w'}'"
    )


@pytest.fixture(scope="module")
def batch() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_batch_mode())


@pytest.mark.parametrize("options", [jdbc, delta, iceberg], ids=lambda f: f.__name__)
def test_rows_are_changed_and_removed(
    batch: TableEnvironment, tmp_path: pathlib.Path, options: Callable[[pathlib.Path], str]
) -> None:
    batch.execute_sql("DROP TABLE IF EXISTS t")
    batch.execute_sql(f"CREATE TABLE t (id INT, v STRING, n BIGINT, {KEY}) WITH ({options(tmp_path)})")
    batch.execute_sql("INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, NULL, 30), (4, 'd', 40)").wait()
    batch.execute_sql("UPDATE t SET n = n + id, v = UPPER(v) WHERE n >= 20").wait()
    assert rows(batch) == [(1, "a", 10), (2, "B", 22), (3, None, 33), (4, "D", 44)]
    batch.execute_sql("DELETE FROM t WHERE v IS NULL OR id = (SELECT MAX(id) FROM t)").wait()
    assert rows(batch) == [(1, "a", 10), (2, "B", 22)]
    batch.execute_sql("UPDATE t SET n = NULL").wait()
    assert rows(batch) == [(1, "a", None), (2, "B", None)]
    batch.execute_sql("DELETE FROM t").wait()
    assert rows(batch) == []


def rows(batch: TableEnvironment) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in batch.execute_sql("SELECT * FROM t").collect())


def test_what_cannot_be_done_is_refused(batch: TableEnvironment, tmp_path: pathlib.Path) -> None:
    def table(name: str, key: str, options: str) -> None:
        batch.execute_sql(f"CREATE TABLE {name} (id INT, v STRING{key}) WITH ({options})")

    table("keyed", f", {KEY}", "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:/x.db', 'table-name' = 't'")
    with pytest.raises(NotSupportedError, match="UPDATE of the primary key column 'id'"):
        batch.execute_sql("UPDATE keyed SET id = 2")
    with pytest.raises(ValidationError, match="there is no column 'w' to set"):
        batch.execute_sql("UPDATE keyed SET w = 2")
    with pytest.raises(ValidationError, match="a column is set twice"):
        batch.execute_sql("UPDATE keyed SET v = 'a', v = 'b'")
    table("keyless", "", "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:/x.db', 'table-name' = 't'")
    with pytest.raises(ValidationError, match="needs to know rows by their key"):
        batch.execute_sql("DELETE FROM keyless")
    table("files", "", f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv'")
    with pytest.raises(NotSupportedError, match="DELETE on connector 'filesystem'"):
        batch.execute_sql("DELETE FROM files WHERE id = 1")
    streaming = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    streaming.execute_sql("CREATE TABLE s (id INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(ValidationError, match="UPDATE is for batch only"):
        streaming.execute_sql("UPDATE s SET id = 1")
