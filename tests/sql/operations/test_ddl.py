"""DDL on the in-memory catalog."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.catalog.catalog_manager import CatalogManager
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.session import SqlSession

BLACKHOLE = "WITH ('connector' = 'blackhole')"


@pytest.fixture
def session() -> SqlSession:
    return SqlSession(CatalogManager(), {})


def rows(session: SqlSession, sql: str) -> list[list[Any]]:
    return [list(r) for r in session.execute(sql).rows()]


def names(session: SqlSession, table: str) -> list[str]:
    return [r[0] for r in rows(session, f"DESCRIBE {table}")]


def test_a_table_cannot_be_created_twice_unless_one_says_so(session: SqlSession) -> None:
    session.execute(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    session.execute(f"CREATE TABLE IF NOT EXISTS t (b INT) {BLACKHOLE}")
    with pytest.raises(ValidationError, match="already exists"):
        session.execute(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    assert names(session, "t") == ["a"]


def test_a_temporary_table_hides_the_permanent_one_until_it_is_dropped(session: SqlSession) -> None:
    session.execute(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    session.execute(f"CREATE TEMPORARY TABLE t (b INT) {BLACKHOLE}")
    assert names(session, "t") == ["b"]
    with pytest.raises(ValidationError, match="temporary"):
        session.execute("DROP TABLE t")
    session.execute("DROP TEMPORARY TABLE t")
    assert names(session, "t") == ["a"]


def test_drop_table_leaves_views_alone(session: SqlSession) -> None:
    session.execute("CREATE VIEW v AS SELECT 1 AS x")
    with pytest.raises(ValidationError, match="does not exist"):
        session.execute("DROP TABLE v")


def test_alter_table_adds_moves_renames_and_drops_columns(session: SqlSession) -> None:
    session.execute(f"CREATE TABLE t (a INT, b STRING) {BLACKHOLE}")
    session.execute("ALTER TABLE t ADD (c DOUBLE FIRST, d AS a + 1, e INT AFTER a)")
    assert names(session, "t") == ["c", "a", "e", "b", "d"]
    session.execute("ALTER TABLE t RENAME b TO bb")
    session.execute("ALTER TABLE t DROP (c, e)")
    session.execute("ALTER TABLE t MODIFY bb INT FIRST")
    assert names(session, "t") == ["bb", "a", "d"]
    with pytest.raises(ValidationError, match="computed column 'd'"):
        session.execute("ALTER TABLE t DROP a")


def test_like_takes_over_what_it_is_told(session: SqlSession) -> None:
    session.execute(f"CREATE TABLE base (a INT, twice AS a * 2, PRIMARY KEY (a) NOT ENFORCED) {BLACKHOLE}")
    session.execute("CREATE TABLE full_copy (extra INT) LIKE base")
    session.execute(f"CREATE TABLE bare {BLACKHOLE} LIKE base (EXCLUDING ALL)")
    assert names(session, "full_copy") == ["a", "twice", "extra"]
    assert names(session, "bare") == ["a"]
    with pytest.raises(ValidationError, match="already exists an option"):
        session.execute("CREATE TABLE bad WITH ('connector' = 'print') LIKE base (INCLUDING OPTIONS)")


def test_describe_shows_keys_extras_and_watermarks(session: SqlSession) -> None:
    session.execute(
        "CREATE TABLE t (id INT, cents AS CAST(id * 100 AS INT), ts TIMESTAMP(3), "
        f"WATERMARK FOR ts AS ts - INTERVAL '10' SECOND, PRIMARY KEY (id) NOT ENFORCED) {BLACKHOLE}"
    )
    assert rows(session, "DESCRIBE t") == [
        ["id", "INT", False, "PRI(id)", None, None],
        ["cents", "INT", False, None, "AS CAST(`id` * 100 AS INTEGER)", None],
        ["ts", "TIMESTAMP(3)", True, None, None, "`ts` - INTERVAL '10' SECOND"],
    ]


def test_show_create_table_can_be_executed_again(session: SqlSession) -> None:
    session.execute(
        f"CREATE TABLE t (a INT, b AS a || 'x' COMMENT 'c', ts TIMESTAMP(3)) {BLACKHOLE}".replace(
            "a ||", "CAST(a AS STRING) ||"
        )
    )
    text = rows(session, "SHOW CREATE TABLE t")[0][0]
    session.execute("DROP TABLE t")
    session.execute(text)
    assert rows(session, "SHOW CREATE TABLE t")[0][0] == text


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (f"CREATE TABLE t (a INT, a STRING) {BLACKHOLE}", "already exists"),
        (f"CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED) {BLACKHOLE}", "not defined"),
        (f"CREATE TABLE t (a INT) PARTITIONED BY (b) {BLACKHOLE}", "partition column"),
        (f"CREATE TABLE t (a INT, WATERMARK FOR a AS a) {BLACKHOLE}", "TIMESTAMP"),
        (f"CREATE TABLE t (a INT, b AS nope + 1) {BLACKHOLE}", "not found"),
        ("CREATE VIEW v AS SELECT 1 AS a, 2 AS a", "a0"),
        ("CREATE CATALOG c WITH ('type' = 'nothing')", "no catalog type"),
        ("USE CATALOG nowhere", "does not exist"),
        ("DROP DATABASE default_database", "current database"),
    ],
)
def test_contradictions_are_refused(session: SqlSession, sql: str, message: str) -> None:
    if message == "a0":
        session.execute(sql)
        assert names(session, "v") == ["a", "a0"]
        return
    with pytest.raises(ValidationError, match=message):
        session.execute(sql)


def test_materialized_tables_are_not_supported_and_say_so(session: SqlSession) -> None:
    with pytest.raises(NotSupportedError, match="materialized"):
        session.execute("DROP MATERIALIZED TABLE t")


def test_a_catalog_keeps_its_comment_and_refuses_unknown_options(session: SqlSession) -> None:
    session.execute("CREATE CATALOG c COMMENT 'it''s' WITH ('type' = 'generic_in_memory')")
    assert rows(session, "SHOW CREATE CATALOG c") == [
        ["CREATE CATALOG `c`\nCOMMENT 'it''s'\nWITH (\n  'type' = 'generic_in_memory'\n)\n"]
    ]
    with pytest.raises(ValidationError, match="unsupported options"):
        session.execute("ALTER CATALOG c SET ('k' = 'v')")


def test_a_function_in_another_language_is_refused_when_it_is_called(session: SqlSession) -> None:
    session.execute("CREATE FUNCTION f AS 'com.acme.F'")
    assert rows(session, "SHOW USER FUNCTIONS") == [["f"]]
    with pytest.raises(NotSupportedError, match="functions in JAVA"):
        session.execute("SELECT f(1)")
