"""What could come next."""

from __future__ import annotations

import pytest

from penstock.cli.sql.completion import Names, suggest
from penstock.sql.result import strings
from tests.cli.sql.stand_in import StandIn, describing


@pytest.fixture
def names() -> Names:
    answers = {
        "DESCRIBE": describing({"orders": ["item", "price", "user"]}),
        "SHOW TABLES FROM lake.bronze": strings("table name", ["events"]),
        "SHOW TABLES FROM": strings("table name", []),
        "SHOW DATABASES FROM lake": strings("database name", ["bronze"]),
        "SHOW DATABASES FROM": strings("database name", []),
    }
    return Names(StandIn(answers))


def found(before: str, names: Names, whole: str | None = None) -> dict[str, str]:
    return {s.text: s.kind for s in suggest(before, names, whole)}


def test_tables_databases_and_catalogs_follow_from(names: Names) -> None:
    assert found("SELECT * FROM ", names) == {
        "orders": "table",
        "`order`": "table",
        "default_database": "database",
        "default_catalog": "catalog",
        "lake": "catalog",
    }


def test_columns_of_the_tables_in_the_statement_come_first(names: Names) -> None:
    first = suggest("SELECT p", names, "SELECT p FROM orders")[0]
    assert (first.text, first.kind, first.replaces) == ("price", "column", 1)


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [
        ("SELECT ", " FROM orders", ["item:column", "price:column", "`user`:column", "ABS:function"]),
        ("SELECT u", " FROM orders", ["`user`:column", "upper:function"]),
        ("SELECT item, ", " FROM orders", ["item:column", "price:column"]),
        ("SELECT * FROM orders WHERE ", "", ["item:column", "price:column"]),
        ("SELECT * FROM orders WHERE price = 1 AND ", "", ["item:column"]),
        ("SELECT ABS(", " FROM orders", ["item:column"]),
        ("SELECT price ", " FROM orders", ["FROM:keyword", "WHERE:keyword", "GROUP:keyword"]),
        ("SELECT * ", "", ["FROM:keyword"]),
        ("SELECT price * ", " FROM orders", ["item:column"]),
        ("SELECT * FROM orders ", "", ["FROM:keyword", "WHERE:keyword"]),
        ("SELECT * FROM orders w", "", ["where:keyword", "window:keyword"]),
        ("S", "", ["SET:command", "SHOW:command", "STOP JOB:command", "SELECT:command"]),
        ("C", "", ["CLEAR:command", "CREATE:keyword"]),
    ],
)
def test_what_fits_the_place_comes_first(names: Names, before: str, after: str, first: list[str]) -> None:
    shown = [f"{s.text}:{s.kind}" for s in suggest(before, names, before + after)]
    assert shown[: len(first)] == first


def test_names_that_are_reserved_words_come_in_backquotes(names: Names) -> None:
    assert "`user`" in found("SELECT orders.u", names, "SELECT orders.u FROM orders")


def test_an_alias_has_the_columns_of_its_table(names: Names) -> None:
    assert found("SELECT o.", names, "SELECT o. FROM orders AS o") == {
        "item": "column",
        "price": "column",
        "`user`": "column",
    }


def test_a_catalog_has_databases_and_a_database_tables(names: Names) -> None:
    assert found("SELECT * FROM lake.", names) == {"bronze": "database"}
    assert found("SELECT * FROM lake.bronze.", names) == {"events": "table"}


def test_keywords_and_functions_are_written_in_the_users_case(names: Names) -> None:
    assert found("SELE", names)["SELECT"] == "command"
    assert "select" in found("sele", names)
    assert found("SELECT spl", names) == {"split_index": "function"}


def test_options_follow_set(names: Names) -> None:
    assert found("SET 'execution.runtime-m", names) == {"execution.runtime-mode": "option"}
    assert "sql-client.verbose" in found("RESET 'sql-cl", names)


def test_use_wants_a_database_and_use_catalog_a_catalog(names: Names) -> None:
    assert found("USE ", names) == {"CATALOG": "keyword", "default_database": "database"}
    assert found("USE CATALOG l", names) == {"lake": "catalog"}


@pytest.mark.parametrize("before", ["SELECT 'ord", "", "SELECT 1; ", "-- ord"])
def test_nothing_is_offered_in_texts_and_before_the_first_letter(before: str, names: Names) -> None:
    assert found(before, names) == {}
