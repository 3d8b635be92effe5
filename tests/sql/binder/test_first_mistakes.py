"""Mistakes that everybody makes in a first query: the whole message, with the place underlined."""

from __future__ import annotations

import pytest

from penstock.catalog.catalog_manager import CatalogManager
from penstock.common.errors import PenstockError
from penstock.sql.session import SqlSession

GROUP = "\n  do:    add the column to GROUP BY or put it into an aggregate function"


@pytest.fixture(params=[False, True], ids=["batch", "streaming"])
def session(request: pytest.FixtureRequest) -> SqlSession:
    session = SqlSession(CatalogManager(), {}, streaming=request.param)
    for name in ("t", "u"):
        session.execute(
            f"CREATE TABLE {name} (id INT, name STRING, price INT) WITH ('connector' = 'datagen')"
        )
    session.execute("CREATE TABLE sink (id INT, name STRING) WITH ('connector' = 'print')")
    return session


def message(session: SqlSession, sql: str) -> str:
    with pytest.raises(PenstockError) as refused:
        session.execute(sql)
    return str(refused.value)


def pointed(what: str, place: str, line: str, marks: str, do: str) -> str:
    return f"{what}\n  where: {place}\n    {line}\n    {marks}\n  do:    {do}"


@pytest.mark.parametrize(
    "sql, quoted, column",
    [
        ('SELECT "id" FROM t', "id", 8),
        ('SELECT t."id" FROM t', "id", 10),
        ('SELECT id FROM t WHERE name = "it is"', "it is", 31),
        ('SELECT id AS "x y" FROM t', "x y", 14),
        ('SELECT COUNT(*) FROM "t"', "t", 22),
        ('SELECT id FROM t ORDER BY "id"', "id", 27),
        ('INSERT INTO "sink" SELECT id, name FROM t', "sink", 13),
    ],
)
def test_double_quotes_are_explained(session: SqlSession, sql: str, quoted: str, column: int) -> None:
    assert message(session, sql) == pointed(
        f'SQL parse failed near "{quoted}": Flink SQL does not quote with double quotes',
        f"line 1, column {column}",
        sql,
        " " * (column - 1) + "^" * (len(quoted) + 2),
        f"write `{quoted}` for a name, '{quoted}' for text",
    )


def test_double_quotes_within_text_and_names_are_text(session: SqlSession) -> None:
    assert message(session, "SELECT '\"', nam FROM t").startswith("column 'nam' not found")
    assert message(session, "SELECT '\"a\"' FROM t x y").startswith("SQL parse failed near 'y': ")


@pytest.mark.parametrize(
    "sql, name, line, column",
    [
        ("SELECT id, name, COUNT(*) FROM t GROUP BY id", "name", 1, 12),
        ("SELECT SUM(price), price FROM t", "price", 1, 20),
        ("SELECT id,\n  UPPER(name) AS n, COUNT(*) FROM t GROUP BY id", "name", 2, 9),
        ("SELECT id FROM t GROUP BY id HAVING price > 3", "price", 1, 37),
        ("SELECT id, COUNT(*) FROM t GROUP BY id ORDER BY name", "name", 1, 49),
        ("INSERT INTO sink SELECT MAX(id), name FROM t", "name", 1, 34),
    ],
)
def test_a_column_that_is_not_grouped_is_named_and_underlined(
    session: SqlSession, sql: str, name: str, line: int, column: int
) -> None:
    assert message(session, sql) == pointed(
        f"column '{name}' is not being grouped",
        f"line {line}, column {column}",
        sql.splitlines()[line - 1],
        " " * (column - 1) + "^" * len(name),
        "add the column to GROUP BY or put it into an aggregate function",
    )


def test_the_other_tables_column_of_that_name_is_underlined(session: SqlSession) -> None:
    sql = "SELECT u.name, t.name FROM t JOIN u ON t.id = u.id GROUP BY u.name"
    told = message(session, sql)
    assert told.startswith("column 'name' is not being grouped\n  where: line 1, column 18\n")


def test_a_star_over_groups_is_underlined(session: SqlSession) -> None:
    told = message(session, "SELECT * FROM t GROUP BY id")
    assert told.startswith("column 'name' is not being grouped") and told.endswith(GROUP)
