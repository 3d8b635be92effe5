"""Cutting scripts into statements."""

from __future__ import annotations

import pytest

from penstock.cli.sql.script import is_complete, split_script


def texts(script: str) -> list[str]:
    return [piece.text for piece in split_script(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'; SELECT `;`", ["SELECT ';'", "SELECT `;`"]),
        ("SELECT 'it''s; so'; SELECT 2", ["SELECT 'it''s; so'", "SELECT 2"]),
        ("SELECT 1 -- a; b\n; SELECT 2", ["SELECT 1 -- a; b", "SELECT 2"]),
        ("/* a; b */ SELECT 1;", ["SELECT 1"]),
        ("SELECT '/*'; SELECT '*/'", ["SELECT '/*'", "SELECT '*/'"]),
        ("-- it's\nSELECT 1", ["SELECT 1"]),
        (";; ; -- nothing\n", []),
        (
            "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END; SELECT 2",
            ["BEGIN STATEMENT SET", "INSERT INTO a SELECT 1", "END", "SELECT 2"],
        ),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END; SELECT 3",
            ["EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END", "SELECT 3"],
        ),
        (
            "EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN x THEN 1 END; END; SHOW TABLES",
            ["EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN x THEN 1 END; END", "SHOW TABLES"],
        ),
        ("SELECT /*+ OPTIONS('a;'='b') */ 1; SELECT 2", ["SELECT /*+ OPTIONS('a;'='b') */ 1", "SELECT 2"]),
    ],
)
def test_a_semicolon_ends_a_statement_only_where_it_is_one(script: str, expected: list[str]) -> None:
    assert texts(script) == expected


def test_a_piece_knows_its_number_and_where_it_began() -> None:
    first, second = split_script("-- head\nSELECT 1; /* x */\n\n  SELECT 2;")
    assert (first.number, first.line, first.column, first.start) == (1, 2, 1, 8)
    assert (second.number, second.line, second.column) == (2, 4, 3)


@pytest.mark.parametrize(
    ("script", "offset"), [("SELECT 'a; b", 7), ("SELECT /* a; b", 7), ("SELECT 1; SELECT `x", 7)]
)
def test_a_quote_that_is_never_closed_is_pointed_at(script: str, offset: int) -> None:
    last = split_script(script)[-1]
    assert last.open_quote == offset
    assert not last.closed


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1; SELECT", False),
        ("SELECT ';", False),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", True),
        ("-- only a comment;", False),
    ],
)
def test_what_is_typed_is_complete_when_a_semicolon_ended_it(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
