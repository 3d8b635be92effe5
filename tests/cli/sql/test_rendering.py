"""Rows as lines."""

from __future__ import annotations

from penstock.cli.sql.options import ClientOptions
from penstock.cli.sql.rendering import ChangelogTable, Count, changelog_lines, row_count, table_lines
from penstock.common.datatypes import DataTypes
from penstock.common.types import Row, RowKind
from penstock.table.resolved_schema import ResolvedSchema

SCHEMA = ResolvedSchema.physical(["id", "name"], [DataTypes.INT(), DataTypes.STRING()])


def lines(*rows: Row, **options: object) -> list[str]:
    return list(table_lines(SCHEMA, rows, ClientOptions(**options), Count()))  # type: ignore[arg-type]


def test_types_stand_under_the_names_when_asked_for() -> None:
    assert lines(Row(1, "a"), show_types=True)[1:3] == ["|  id |   name |", "| INT | STRING |"]


def test_a_value_wider_than_the_limit_ends_in_dots() -> None:
    assert lines(Row(1, "abcdefgh"), max_column_width=6)[3] == "|  1 | abc... |"


def test_a_limit_below_the_dots_still_keeps_the_columns_straight() -> None:
    assert {len(line) for line in lines(Row(1234, "abcdefgh"), max_column_width=2)} == {11}


def test_wide_characters_take_two_columns() -> None:
    assert lines(Row(1, "東京"), Row(2, "abcd"))[3:5] == ["|  1 | 東京 |", "|  2 | abcd |"]


def test_line_breaks_do_not_tear_the_table() -> None:
    assert lines(Row(1, "a\nb"))[3] == "|  1 | a\\nb |"


def test_an_empty_table_has_a_head_and_no_third_border() -> None:
    assert lines() == ["+----+------+", "| id | name |", "+----+------+"]


def test_rows_above_the_limit_are_counted_as_cut() -> None:
    count = Count()
    list(table_lines(SCHEMA, [Row(1, "a"), Row(2, "b")], ClientOptions(max_rows=1), count))
    assert (count.rows, count.cut) == (1, True)


def test_a_changelog_line_is_there_before_the_next_row_is_asked_for() -> None:
    def rows():  # type: ignore[no-untyped-def]
        yield Row.of_kind(RowKind.DELETE, 1, "a")
        raise AssertionError("asked too early")

    found = changelog_lines(SCHEMA, rows(), ClientOptions(), Count())
    assert [next(found) for _ in range(4)][3] == "| -D |           1 | " + "a".rjust(30) + " |"


def test_a_wider_limit_widens_the_texts_of_a_changelog() -> None:
    border = next(changelog_lines(SCHEMA, [], ClientOptions(max_column_width=50), Count()))
    assert border == "+----+-------------+" + "-" * 52 + "+"


def test_a_changelog_folds_into_the_rows_that_are_left() -> None:
    table = ChangelogTable()
    for kind, name in [(RowKind.INSERT, "a"), (RowKind.INSERT, "a"), (RowKind.DELETE, "a")]:
        table.apply(Row.of_kind(kind, 1, name))
    assert [list(row) for row in table.rows()] == [[1, "a"]]


def test_the_last_line_counts() -> None:
    assert [row_count(n) for n in (0, 1, 2)] == ["Empty set", "1 row in set", "2 rows in set"]
    assert row_count(1, 0.1) == "1 row in 0.10 s"
