"""The programs with which the pages begin, on Spark; and the options that the pages name."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.types import RowKind
from penstock.connectors.registry import CONNECTORS
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.pages import program, unnamed

PAGES = {"postgres-cdc": "postgres", "mysql-cdc": "mariadb"}


@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_the_page_follows_the_table(
    page: str, request: pytest.FixtureRequest, spark: Any
) -> None:
    server = request.getfixturevalue(PAGES[page])
    server.execute(
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, item VARCHAR(20), price DECIMAL(10, 2))",
        "INSERT INTO orders VALUES (1, 'pen', 1.50), (2, 'ink', 2.25), (3, 'pen', 1.00)",
    )
    if page == "postgres-cdc":
        server.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    password = server.password.replace("'", "''")
    scope = {"TableEnvironment": TableEnvironment, "EnvironmentSettings": EnvironmentSettings}
    scope |= {"port": server.port, "user": server.user, "password": password}
    exec(program(page), scope)
    totals: Any = scope["totals"]
    found: set[tuple[Any, ...]] = set()
    rows = totals.collect()
    try:
        follow(rows, found, {("pen", 2, decimal.Decimal("2.50")), ("ink", 1, decimal.Decimal("2.25"))})
        server.execute("UPDATE orders SET item = 'ink' WHERE id = 3", "DELETE FROM orders WHERE id = 2")
        follow(rows, found, {("pen", 1, decimal.Decimal("1.50")), ("ink", 1, decimal.Decimal("1.00"))})
    finally:
        rows.close()
        server.execute("DROP TABLE orders")


def follow(rows: Iterator[Any], found: set[tuple[Any, ...]], wanted: set[tuple[Any, ...]]) -> None:
    """Takes changes until the table is as it should be; one that never comes is stopped by the test's time limit."""
    while found != wanted:
        row = next(rows)
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            found.add(tuple(row))
        else:
            found.remove(tuple(row))


@pytest.mark.parametrize("page", PAGES)
def test_the_page_names_every_option(page: str) -> None:
    assert unnamed(page, [option.name for option in CONNECTORS[page].options]) == []
