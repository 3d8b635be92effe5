"""Queries: what sqlglot's tree looks like after our overrides."""

from __future__ import annotations

import pytest
from sqlglot import exp

from penstock.common.errors import SqlError
from penstock.sql.dialect import nodes
from penstock.sql.dialect.flink import parse_hints
from penstock.sql.dialect.statement_parser import parse_expression, parse_query


def test_every_function_keeps_its_own_name() -> None:
    tree = parse_query("SELECT LEFT(a, 2), IF(a > 1, 'y', 'n'), DATE_FORMAT(b, 'yyyy') FROM t")
    assert [e.this for e in tree.expressions] == ["LEFT", "IF", "DATE_FORMAT"]


def test_keyword_forms_become_plain_calls() -> None:
    extract = parse_expression("EXTRACT(YEAR FROM ts)")
    assert (extract.this, extract.expressions[0].name) == ("EXTRACT", "YEAR")
    trim = parse_expression("TRIM(LEADING 'x' FROM s)")
    assert [a.name for a in trim.expressions] == ["LEADING", "x", "s"]


def test_a_window_function_with_named_arguments_is_a_table_function() -> None:
    tree = parse_query(
        "SELECT * FROM TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR))"
    )
    function = tree.args["from_"].this
    assert isinstance(function, nodes.TableFunction)
    assert [str(a.this) for a in function.expressions] == ["DATA", "TIMECOL", "SIZE"]


def test_session_partition_columns_end_before_the_descriptor() -> None:
    tree = parse_query(
        "SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY a, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    )
    table = tree.args["from_"].this.expressions[0]
    assert [c.name for c in table.args["partition_by"]] == ["a"]


def test_a_backslash_is_an_ordinary_character() -> None:
    assert parse_expression(r"'a\b'").this == r"a\b"
    assert parse_expression("'it''s'").this == "it's"


def test_constructors_and_element_access_nest() -> None:
    tree = parse_expression("MAP['k', ARRAY[1, 2]]['k'][1]")
    assert isinstance(tree, exp.Bracket)
    assert isinstance(tree.this, exp.Bracket)


def test_case_may_list_several_values_in_a_branch() -> None:
    tree = parse_expression("CASE n WHEN 1, 2 THEN 'few' ELSE 'many' END")
    assert len(tree.args["ifs"]) == 2


@pytest.mark.parametrize("word", ["ref", "no", "views", "prev", "one", "minus", "bytes", "unknown", "user"])
def test_a_reserved_word_is_a_name_only_in_backquotes(word: str) -> None:
    with pytest.raises(SqlError, match="reserved word") as caught:
        parse_query(f"SELECT {word} FROM t")
    assert (caught.value.line, caught.value.column) == (1, 8)
    assert parse_query(f"SELECT `{word}` FROM t").expressions[0].name == word


def test_a_mistake_is_underlined_where_it_stands() -> None:
    with pytest.raises(SqlError) as caught:
        parse_query("SELECT a\nFROM t WHERE (a > 1")
    assert "line 2" in str(caught.value)


def test_hints_are_read_with_their_options() -> None:
    assert parse_hints("OPTIONS('a.b' = 'x''y'), BROADCAST(t, u)") == [
        ("OPTIONS", [("a.b", "x'y")]),
        ("BROADCAST", [(None, "t"), (None, "u")]),
    ]
