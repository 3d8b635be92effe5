"""Hive's statements on Spark's catalog."""

from __future__ import annotations

import uuid

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.table import EnvironmentSettings, SqlDialect, TableEnvironment
from penstock.table.expressions import col


def environment(streaming: bool = False) -> TableEnvironment:
    mode = EnvironmentSettings.in_streaming_mode if streaming else EnvironmentSettings.in_batch_mode
    env = TableEnvironment.create(mode())
    env.execute_sql("SET table.sql-dialect = hive")
    return env


def test_streaming_and_other_catalogs_are_refused_with_the_way_out() -> None:
    with pytest.raises(NotSupportedError, match="the Hive dialect in streaming mode"):
        environment(streaming=True).execute_sql("SELECT 1")
    with pytest.raises(ValidationError, match="the current catalog is 'default_catalog'"):
        environment().execute_sql("SELECT 1")
    with pytest.raises(NotSupportedError, match="in the Hive dialect"):
        environment().explain_sql("SELECT 1")
    with pytest.raises(NotSupportedError, match="in the Hive dialect"):
        environment().create_statement_set().add_insert_sql("INSERT INTO t SELECT 1")


def test_options_and_catalogs_stay_flinks() -> None:
    env = environment()
    assert env.get_config().get_sql_dialect() == SqlDialect.HIVE
    assert [r[0] for r in env.execute_sql("SHOW CATALOGS").collect()] == ["default_catalog"]
    env.execute_sql("SET 'table.sql-dialect' = 'default'")
    assert env.execute_sql("EXPLAIN SELECT 1") is not None
    env.execute_sql("SET 'table.sql-dialect' = 'cobol'")
    with pytest.raises(ValidationError, match="unsupported SQL dialect: 'cobol'"):
        env.execute_sql("SELECT 1")


@pytest.mark.spark
def test_ddl_inserts_and_queries_in_hives_words() -> None:
    env = environment()
    env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark')")
    env.execute_sql("USE CATALOG lake")
    database, name = f"h{uuid.uuid4().hex[:8]}", "visits"
    env.execute_sql(f"CREATE DATABASE {database}")
    try:
        env.execute_sql(f"USE {database}")
        assert env.get_current_database() == database
        env.execute_sql(f"CREATE TABLE {name} (id INT, tags ARRAY<STRING>) USING parquet PARTITIONED BY (id)")
        env.execute_sql(f"INSERT INTO TABLE {name} PARTITION (id = 1) SELECT array('a', 'b')")
        env.execute_sql(
            f"FROM (SELECT array('c') AS t) x INSERT INTO TABLE {name} PARTITION (id = 2) SELECT x.t"
        )
        assert [r[0] for r in env.execute_sql(f"SHOW PARTITIONS {name}").collect()] == ["id=1", "id=2"]
        query = f"SELECT ID, tag FROM {name} LATERAL VIEW explode(tags) x AS tag SORT BY tag"
        assert sorted(tuple(r) for r in env.execute_sql(query).collect()) == [(1, "a"), (1, "b"), (2, "c")]
        table = env.sql_query(query).filter(col("tag") > "a").select(col("tag"))
        assert sorted(r[0] for r in table.execute().collect()) == ["b", "c"]
        with pytest.raises(ValidationError, match="Spark refuses the statement"):
            env.execute_sql("SELECT nothing FROM nowhere")
        with pytest.raises(ValidationError, match="sql_query takes a query"):
            env.sql_query(f"DROP TABLE {name}")
        with pytest.raises(ValidationError) as stored:
            env.execute_sql(
                "CREATE TABLE s (a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE"
            )
        assert "enableHiveSupport" in str(stored.value)
        env.execute_sql("SET table.sql-dialect = default")
        assert env.execute_sql(f"SELECT COUNT(*) FROM {name}").collect().next()[0] == 2
    finally:
        env.execute_sql("SET table.sql-dialect = hive")
        env.execute_sql(f"DROP DATABASE {database} CASCADE")
