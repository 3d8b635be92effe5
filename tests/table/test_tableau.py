"""The printed form of results."""

from __future__ import annotations

from penstock.common.datatypes import DataTypes
from penstock.common.types import Row, RowKind
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.tableau import tableau

SCHEMA = ResolvedSchema.physical(["id", "name"], [DataTypes.INT(), DataTypes.STRING()])


def test_batch_columns_are_as_wide_as_their_widest_value() -> None:
    assert list(tableau(SCHEMA, [Row(1, "bolt"), Row(20, None)])) == [
        "+----+--------+",
        "| id |   name |",
        "+----+--------+",
        "|  1 |   bolt |",
        "| 20 | <NULL> |",
        "+----+--------+",
        "2 rows in set",
    ]


def test_null_is_empty_where_the_rows_are_no_query_s() -> None:
    assert list(tableau(SCHEMA, [Row(20, None)], null=""))[3] == "| 20 |      |"


def test_streaming_results_show_the_row_kind_and_fixed_widths() -> None:
    lines = list(tableau(SCHEMA, [Row.of_kind(RowKind.UPDATE_AFTER, 1, "x")], with_kind=True))
    assert lines[1] == "| op |          id |                           name |"
    assert lines[3] == "| +U |           1 |                              x |"


def test_an_empty_result_says_so() -> None:
    assert list(tableau(SCHEMA, []))[-1] == "Empty set"


def test_long_texts_are_cut_at_thirty() -> None:
    line = list(tableau(SCHEMA, [Row(1, "x" * 40)]))[3]
    assert line == "|  1 | " + "x" * 27 + "... |"
