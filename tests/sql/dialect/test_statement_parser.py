"""Statements become the right dataclasses, with everything that was written."""

from __future__ import annotations

import json
import pathlib

import pytest

from penstock.common.errors import SqlError
from penstock.sql.dialect import statements as st
from penstock.sql.dialect.statement_parser import parse_statement, parse_statements

FORMS = pathlib.Path(__file__).parents[2] / "parity" / "sql_statements.json"


def _examples() -> list[str]:
    stored = json.loads(FORMS.read_text())
    forms = [*stored["statements"], *stored["queries"]]
    left_out = {"ml-predict", "ml-evaluate", "named-arguments"}
    return [f["example"] for f in forms if f["verified"] != "client" and f["id"] not in left_out]


@pytest.mark.parametrize("text", _examples())
def test_every_statement_form_of_flink_is_understood(text: str) -> None:
    assert len(parse_statements(text)) == 1


def test_create_table_keeps_columns_watermark_key_and_options() -> None:
    made = parse_statement(
        "CREATE TEMPORARY TABLE IF NOT EXISTS a.b.t (id INT COMMENT 'x', twice AS id * 2, "
        "f STRING METADATA FROM 'file.name' VIRTUAL, ts TIMESTAMP(3) NOT NULL, "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED) "
        "COMMENT 'c' PARTITIONED BY (id) WITH ('connector' = 'blackhole')"
    )
    assert isinstance(made, st.CreateTableStatement)
    assert made.path == ("a", "b", "t") and made.temporary and made.if_not_exists
    kinds = [(c.name, c.is_physical, c.is_computed, c.is_metadata) for c in made.schema.columns]
    assert kinds == [
        ("id", True, False, False),
        ("twice", False, True, False),
        ("f", False, False, True),
        ("ts", True, False, False),
    ]
    assert made.schema.columns[1].expression == "id * 2"
    assert made.schema.watermarks[0].expression == "ts - INTERVAL '5' SECOND"
    assert (made.schema.primary_key, made.schema.primary_key_name) == (("id",), "pk")
    assert (made.partition_keys, made.comment) == (("id",), "c")


def test_an_enforced_primary_key_is_refused() -> None:
    with pytest.raises(SqlError, match="ENFORCED"):
        parse_statement("CREATE TABLE t (a INT, PRIMARY KEY (a)) WITH ('connector' = 'x')")


def test_a_statement_set_is_one_statement_of_a_script() -> None:
    script = (
        "SET 'a' = 'b'; EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; "
        "INSERT INTO u SELECT 2; END; SHOW TABLES"
    )
    kinds = [type(s) for s in parse_statements(script)]
    assert kinds == [st.SetStatement, st.StatementSetStatement, st.ShowStatement]


def test_insert_tells_a_column_list_from_a_query_in_parentheses() -> None:
    listed = parse_statement("INSERT INTO t (a, b) SELECT 1, 2")
    wrapped = parse_statement("INSERT INTO t (SELECT 1, 2)")
    assert isinstance(listed, st.InsertStatement) and listed.columns == ("a", "b")
    assert isinstance(wrapped, st.InsertStatement) and wrapped.columns is None


def test_text_behind_a_statement_is_refused() -> None:
    with pytest.raises(SqlError, match="after the end"):
        parse_statement("DROP TABLE t nonsense")
