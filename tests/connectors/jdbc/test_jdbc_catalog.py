"""Catalogs of PostgreSQL and MariaDB servers: what they show, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogTable
from penstock.common.errors import ExternalSystemError, NotSupportedError, ValidationError
from penstock.sql.session import SqlSession
from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer


def options(server: PostgresServer | MariaDbServer, **changes: str) -> str:
    given = {
        "type": "jdbc",
        "default-database": server.database,
        "username": server.user,
        "password": server.password,
        "base-url": server.base_url,
        **changes,
    }
    return ", ".join(f"'{k}' = '{v.replace(chr(39), chr(39) * 2)}'" for k, v in given.items())


def opened(server: PostgresServer | MariaDbServer) -> SqlSession:
    session = SqlSession(CatalogManager(), {})
    session.execute(f"CREATE CATALOG c WITH ({options(server)})")
    session.execute("USE CATALOG c")
    return session


def rows(session: SqlSession, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.execute(sql).rows()]


@pytest.fixture(scope="module")
def pg(postgres: PostgresServer) -> SqlSession:
    postgres.execute(
        "CREATE SCHEMA audit",
        'CREATE TABLE audit."Log Lines" ("Key" INT, PRIMARY KEY ("Key"))',
        "CREATE TABLE typed (i2 INT2, i4 SERIAL, i8 BIGINT NOT NULL, r REAL, f FLOAT8, n NUMERIC(10, 2), "
        "big NUMERIC, b BOOL, c CHAR(3), v VARCHAR(20), endless VARCHAR, t TEXT, j JSON, jb JSONB, u UUID, d DATE, "
        "tm TIME(3), ts TIMESTAMP, ts3 TIMESTAMP(3), tz TIMESTAMPTZ, bin BYTEA, ints INT[], nums NUMERIC(5, 1)[], "
        "PRIMARY KEY (i8, i4))",
        "CREATE TABLE odd (id INT, place POINT)",
        "CREATE VIEW seen AS SELECT 1 AS one",
    )
    return opened(postgres)


def test_postgres_shows_databases_and_tables_but_not_its_own(pg: SqlSession) -> None:
    databases = [name for (name,) in rows(pg, "SHOW DATABASES")]
    assert "shop" in databases and "template1" not in databases
    tables = {name for (name,) in rows(pg, "SHOW TABLES")}
    assert {"public.typed", "audit.Log Lines"} <= tables
    assert not {name for name in tables if name.startswith(("pg_", "information_schema")) or "seen" in name}


def test_postgres_types_become_flink_types(pg: SqlSession) -> None:
    described = {name: (kind, null, key) for name, kind, null, key, *_ in rows(pg, "DESCRIBE typed")}
    assert {name: kind for name, (kind, _, _) in described.items()} == {
        "i2": "SMALLINT", "i4": "INT", "i8": "BIGINT", "r": "FLOAT", "f": "DOUBLE", "n": "DECIMAL(10, 2)",
        "big": "DECIMAL(38, 18)", "b": "BOOLEAN", "c": "CHAR(3)", "v": "VARCHAR(20)", "endless": "STRING",
        "t": "STRING", "j": "STRING", "jb": "STRING", "u": "VARCHAR(36)", "d": "DATE", "tm": "TIME(3)",
        "ts": "TIMESTAMP(6)", "ts3": "TIMESTAMP(3)", "tz": "TIMESTAMP_LTZ(6)", "bin": "BYTES",
        "ints": "ARRAY<INT>", "nums": "ARRAY<DECIMAL(5, 1)>",
    }  # fmt: skip
    assert described["i8"][1:] == (False, "PRI(i8, i4)") and described["i2"][1:] == (True, None)


def test_postgres_tables_are_found_with_and_without_their_schema(pg: SqlSession) -> None:
    for name in ("typed", "`public.typed`", "shop.typed", "c.shop.`public.typed`"):
        assert rows(pg, f"DESCRIBE {name}")
    assert [row[0] for row in rows(pg, "DESCRIBE `audit.Log Lines`")] == ["Key"]
    table = pg.catalogs.catalog("c").get_table(ObjectPath("shop", "audit.Log Lines"))
    assert isinstance(table, CatalogTable)
    assert table.options["table-name"] == 'audit."Log Lines"' and table.options["url"].endswith("/shop")
    with pytest.raises(ValidationError, match="'nope' not found"):
        pg.execute("DESCRIBE nope")


def test_a_column_without_a_flink_type_is_named(pg: SqlSession) -> None:
    with pytest.raises(NotSupportedError, match="column 'place' of type point"):
        pg.execute("DESCRIBE odd")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE x (a INT) WITH ('connector' = 'blackhole')",
        "DROP TABLE typed",
        "ALTER TABLE typed RENAME TO other",
        "CREATE DATABASE x",
        "DROP DATABASE postgres",
        "CREATE VIEW x AS SELECT 1 AS n",
    ],
)
def test_what_would_change_the_database_is_refused(pg: SqlSession, statement: str) -> None:
    with pytest.raises(NotSupportedError, match="in a JDBC catalog"):
        pg.execute(statement)


def test_mysql_tables_and_types(mariadb: MariaDbServer) -> None:
    mariadb.execute(
        "CREATE TABLE typed (t TINYINT, flag TINYINT(1), bits BIT(1), tu TINYINT UNSIGNED, su SMALLINT UNSIGNED, "
        "m MEDIUMINT, iu INT UNSIGNED, b BIGINT, bu BIGINT UNSIGNED, f FLOAT, g DOUBLE, d DECIMAL(10, 2), "
        "du DECIMAL(10, 2) UNSIGNED, c CHAR(3), v VARCHAR(20), txt TEXT, l LONGTEXT, e ENUM('a', 'bc'), day DATE, "
        "tm TIME(3), dt DATETIME, ts TIMESTAMP(6) NULL, bin VARBINARY(5), blo BLOB, PRIMARY KEY (v, t))",
        "CREATE TABLE years (y YEAR)",
    )
    session = opened(mariadb)
    assert rows(session, "SHOW DATABASES") == [("shop",)]
    assert {("typed",), ("years",)} <= set(rows(session, "SHOW TABLES"))
    described = {name: (kind, null, key) for name, kind, null, key, *_ in rows(session, "DESCRIBE typed")}
    assert {name: kind for name, (kind, _, _) in described.items()} == {
        "t": "TINYINT", "flag": "BOOLEAN", "bits": "BOOLEAN", "tu": "SMALLINT", "su": "INT", "m": "INT",
        "iu": "BIGINT", "b": "BIGINT", "bu": "DECIMAL(20, 0)", "f": "FLOAT", "g": "DOUBLE", "d": "DECIMAL(10, 2)",
        "du": "DECIMAL(11, 2)", "c": "CHAR(3)", "v": "VARCHAR(20)", "txt": "STRING", "l": "STRING",
        "e": "VARCHAR(2)", "day": "DATE", "tm": "TIME(3)", "dt": "TIMESTAMP(0)", "ts": "TIMESTAMP(6)",
        "bin": "BYTES", "blo": "BYTES",
    }  # fmt: skip
    assert described["v"][1:] == (False, "PRI(v, t)") and described["g"][1:] == (True, None)
    with pytest.raises(NotSupportedError, match="column 'y' of type year"):
        session.execute("DESCRIBE years")


def test_a_catalog_is_refused_where_its_server_or_an_option_is_missing(postgres: PostgresServer) -> None:
    session = SqlSession(CatalogManager(), {})
    wrong = options(postgres, password="hunter2")
    with pytest.raises(ExternalSystemError, match="catalog 'c' cannot ask its database") as error:
        session.execute(f"CREATE CATALOG c WITH ({wrong})")
    assert "hunter2" not in str(error.value)
    with pytest.raises(ValidationError, match="needs the option 'default-database'"):
        session.execute("CREATE CATALOG c WITH ('type' = 'jdbc')")
    with pytest.raises(ValidationError, match="must not name a database"):
        session.execute(
            f"CREATE CATALOG c WITH ({options(postgres, **{'base-url': postgres.base_url + '/shop'})})"
        )
    with pytest.raises(NotSupportedError, match="a JDBC catalog of SQLite"):
        session.execute(f"CREATE CATALOG c WITH ({options(postgres, **{'base-url': 'jdbc:sqlite:/x'})})")


def test_a_program_may_register_the_catalog_itself(postgres: PostgresServer) -> None:
    from penstock.table.catalog import JdbcCatalog

    catalog = JdbcCatalog("c", "shop", postgres.user, postgres.password, postgres.base_url + "/")
    session = SqlSession(CatalogManager(), {})
    session.catalogs.register_catalog("c", catalog)
    assert session.catalogs.catalog("c").get_default_database() == "shop"
    assert ("shop",) in rows(session, "SHOW DATABASES IN c")
