"""The options of JDBC tables: what is refused before anything runs, and what URLs mean."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from penstock.common.errors import MissingDependencyError, ValidationError
from penstock.connectors.jdbc.dialect import Login
from penstock.connectors.jdbc.postgresql import _arguments
from penstock.connectors.jdbc.url import JdbcUrl
from penstock.connectors.lookup import CachePolicy
from tests.connectors.jdbc.jdbc_tables import JdbcTestTable

URL = "jdbc:sqlite:/nowhere.db"
PARTITION = {
    "scan.partition.column": "id",
    "scan.partition.num": "2",
    "scan.partition.lower-bound": "1",
    "scan.partition.upper-bound": "9",
}


def made(columns: str = "id INT", **options: str) -> JdbcTestTable:
    return JdbcTestTable(columns, {"url": URL, "table-name": "t", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table-nam": "x"}, "no option 'table-nam'"),
        ({"username": "ann"}, "password is missing"),
        ({"password": "x"}, "username is missing"),
        ({"scan.partition.column": "id"}, "either all or none .* scan.partition.num is missing"),
        ({**PARTITION, "scan.partition.lower-bound": "10"}, "must not be larger than"),
        ({**PARTITION, "scan.partition.num": "0"}, "must not be less than 1"),
        ({"lookup.max-retries": "-1"}, "must not be less than 0"),
        ({"sink.max-retries": "-1"}, "must not be less than 0"),
        ({"connection.max-retry-timeout": "10 ms"}, "less than a second"),
        ({"lookup.cache": "FULL"}, "NONE, PARTIAL"),
        ({"filter.handling.policy": "sometimes"}, "always, never"),
        ({"url": "jdbc:oracle:thin:@//h/x"}, "no dialect"),
        ({"url": "jdbc:mysql:replication://a,b/x"}, "a form that is not known"),
        ({"url": "jdbc:sqlite::memory:"}, "cannot be shared by tasks"),
        ({"url": "postgres://ann:secret@h/x"}, r"'postgres://\*\*\*@h/x' is not a JDBC URL"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message) as error:
        made(**options)
    assert error.value.where == "table cat.db.t"


def test_url_and_table_name_are_required() -> None:
    with pytest.raises(ValidationError, match="'table-name' is missing"):
        JdbcTestTable("id INT", {"url": URL})


@pytest.mark.parametrize(
    ("columns", "url", "message"),
    [
        ("m MAP<STRING, INT>", URL, "SQLite tables cannot have a column of type MAP"),
        ("a ARRAY<INT>", "jdbc:mysql://h/d", "MySQL tables cannot have a column of type ARRAY"),
        (
            "a ARRAY<ROW<x INT>>",
            "jdbc:postgresql://h/d",
            "PostgreSQL tables cannot have a column of type ROW",
        ),
        ("ts TIMESTAMP(9)", "jdbc:postgresql://h/d", "out of the range 0 to 6"),
    ],
)
def test_types_that_a_database_does_not_have_are_refused(columns: str, url: str, message: str) -> None:
    table = made(columns, url=url)
    with pytest.raises(ValidationError, match=message):
        table.connector.validate(table.table, "source")


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_psycopg(name: str, *args: Any) -> Any:
        if name == "psycopg":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_psycopg)
    table = made(url="jdbc:postgresql://h/d")
    with pytest.raises(MissingDependencyError, match=r"pip install 'penstock\[jdbc\]'"):
        table.connector.validate(table.table, "sink")


def test_the_cache_options_of_older_scripts_still_count() -> None:
    old = made(**{"lookup.cache.max-rows": "10", "lookup.cache.ttl": "2 s"})
    assert CachePolicy.of(old.connector.values) == CachePolicy(10, 2000, None, True)
    assert CachePolicy.of(made().connector.values) is None


def test_a_url_is_taken_apart() -> None:
    url = JdbcUrl.parse(
        "jdbc:postgresql://a:1,[::1]/my%20db?currentSchema=s&ssl=true&reWriteBatchedInserts=true"
    )
    assert (url.scheme, url.hosts, url.database) == ("postgresql", (("a", 1), ("::1", None)), "my db")
    assert url.parameter("SSL") == "true"
    assert _arguments(Login(url, "ann", "x", 7)) == {
        "host": "a,::1", "port": "1,5432", "dbname": "my db", "user": "ann", "password": "x",
        "connect_timeout": 7, "sslmode": "require", "options": "-c search_path=s",
    }  # fmt: skip


def test_passwords_are_used_and_not_shown() -> None:
    url = JdbcUrl.parse("jdbc:mysql://ann:secret@h:1/d?user=ann&password=secret&x=1")
    assert url.shown == "jdbc:mysql://***@h:1/d?user=ann&password=***&x=1"
    assert (url.parameter("user"), url.parameter("password")) == ("ann", "secret")
    assert "secret" not in repr(Login(JdbcUrl("mysql"), "ann", "secret"))
