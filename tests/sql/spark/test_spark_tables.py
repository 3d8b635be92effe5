"""Tables of Spark's own catalog: batch statements use them, streaming ones refuse them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.common.errors import NotSupportedError
from penstock.runtime.spark.session import get_spark
from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def streaming() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql("CREATE TABLE numbers (a INT) WITH ('connector' = 'spark', 'table-name' = 'numbers')")
    return env


def test_a_streaming_insert_is_refused_before_anything_runs(streaming: TableEnvironment) -> None:
    with pytest.raises(
        NotSupportedError, match="writing to a table of Spark's catalog in streaming mode"
    ) as found:
        streaming.execute_sql("INSERT INTO numbers VALUES (1)")
    assert found.value.where == "table default_catalog.default_database.numbers"
    assert "filesystem" in (found.value.do or "")


def test_a_streaming_query_is_refused_before_anything_runs(streaming: TableEnvironment) -> None:
    with pytest.raises(NotSupportedError, match="reading a table of Spark's catalog in streaming mode"):
        list(streaming.execute_sql("SELECT * FROM numbers").collect())


@pytest.fixture
def stored() -> Iterator[str]:
    spark = get_spark()
    spark.sql("CREATE TABLE stored_numbers (a INT, b STRING) USING parquet")
    yield "stored_numbers"
    spark.sql("DROP TABLE stored_numbers")


@pytest.mark.spark
def test_batch_statements_read_and_write_it(stored: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark')")
    env.execute_sql(f"INSERT INTO lake.`default`.{stored} VALUES (1, 'x'), (2, 'y')").wait()
    with env.execute_sql(f"SELECT b, a FROM lake.`default`.{stored} WHERE a > 1").collect() as found:
        assert [tuple(row) for row in found] == [("y", 2)]
    env.execute_sql(f"INSERT OVERWRITE lake.`default`.{stored} VALUES (3, 'z')").wait()
    with env.execute_sql(f"SELECT * FROM lake.`default`.{stored}").collect() as found:
        assert [tuple(row) for row in found] == [(3, "z")]
