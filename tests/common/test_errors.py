"""Where an error shows the text it is about."""

from __future__ import annotations

import pytest

from penstock.common.errors import SqlError, underlined


@pytest.mark.parametrize("column", [1, 40, 200, 393, 400])
def test_the_piece_of_a_long_line_is_shown_above_its_marks(column: int) -> None:
    line = "".join(chr(ord("a") + i % 26) for i in range(400))
    shown, marks = underlined(line, column, 8)
    assert len(shown) <= 122
    marked = shown[marks.index("^") : len(marks)]
    assert marked == line[column - 1 : column + 7]
    assert shown.startswith("…") == (column > 41)
    assert shown.endswith("…") == (column < 300)


def test_a_short_line_is_shown_as_it_is_and_tabs_keep_their_width() -> None:
    assert underlined("\tSELECT x", 9, 20) == ("\tSELECT x", "\t       ^")


def test_an_error_shows_its_line() -> None:
    error = SqlError("no", sql="SELECT\n  nothing", line=2, column=3, length=7)
    assert "line 2, column 3\n      nothing\n      ^^^^^^^" in str(error)
