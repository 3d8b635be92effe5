"""An error as text: which statement, where in the script, the piece underlined, what to do.

[ERROR] statement 2, line 4: column 'prize' is not known
  4 | SELECT prize FROM orders
    |        ^^^^^
  do: did you mean 'price'?
"""

from __future__ import annotations

import traceback

from rich.text import Text

from penstock.cli.sql.script import Piece
from penstock.common.errors import PenstockError, SqlError, UserFunctionError, underlined

__all__ = ["describe_failure", "unclosed_quote"]

_HEAD, _MARK, _DIM = "bold red", "bold red", "dim"


def describe_failure(
    error: BaseException, piece: Piece, *, verbose: bool = False, in_script: bool = True, source: str = ""
) -> Text:
    """The whole message; its colours show on a terminal only.

    Args:
        in_script: Name the statement by number and line; at the prompt there is only the one just typed.
        source: The script's file name, where it has one.
    """
    text = Text()
    text.append("[ERROR] ", style=_HEAD)
    if in_script:
        text.append(f"statement {piece.number}, line {_script_line(error, piece)}", style="bold")
        text.append(f" of {source}: " if source else ": ", style="bold")
    text.append(_what(error))
    if isinstance(error, UserFunctionError):
        text.append("\n" + _indented(error.user_traceback.rstrip()))
    if _points_into(error, piece):
        _append_underlined(text, error, piece)  # type: ignore[arg-type]
    elif isinstance(error, PenstockError) and error.where:
        text.append("\n  where: " + error.where)
    if isinstance(error, PenstockError) and error.do:
        text.append("\n  do: ", style=_DIM)
        text.append(error.do.replace("\n", "\n      "))
    if verbose:
        text.append("\n" + "".join(traceback.format_exception(error)).rstrip(), style=_DIM)
    elif not isinstance(error, PenstockError):
        text.append("\n  do: ", style=_DIM)
        text.append("SET 'sql-client.verbose' = 'true' shows the stack trace")
    return text


def unclosed_quote(piece: Piece) -> SqlError:
    """The error of a statement whose quote or comment never ends."""
    offset = piece.open_quote or 0
    what = "comment" if piece.text[offset] == "/" else f"quote {piece.text[offset]}"
    before = piece.text[:offset]
    return SqlError(
        f"the {what} is never closed",
        sql=piece.text,
        line=before.count("\n") + 1,
        column=offset - before.rfind("\n"),
        do="end it with " + ("*/" if what == "comment" else piece.text[offset]),
    )


def _what(error: BaseException) -> str:
    if isinstance(error, PenstockError):
        return error.what
    return f"{type(error).__name__}: {error}"


def _points_into(error: BaseException, piece: Piece) -> bool:
    """Whether the error names a place of this very text, and not, say, of a view's query."""
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    return (
        isinstance(error, PenstockError)
        and line is not None
        and column is not None
        and getattr(error, "sql", None) == piece.text
        and 0 < line <= len(piece.text.split("\n"))
    )


def _script_line(error: BaseException, piece: Piece) -> int:
    if _points_into(error, piece):
        return piece.line + error.line - 1  # type: ignore[attr-defined]
    return piece.line


def _append_underlined(text: Text, error: SqlError, piece: Piece) -> None:
    line, column = error.line or 1, error.column or 1
    source = piece.text.split("\n")[line - 1]
    if line == 1:  # what stood before the statement on its first line is not part of it
        source, column = " " * (piece.column - 1) + source, column + piece.column - 1
    number = str(piece.line + line - 1)
    margin = " " * len(number)
    shown, marks = underlined(source, column, error.length)
    text.append(f"\n  {number} | ", style=_DIM)
    text.append(shown)
    text.append(f"\n  {margin} | ", style=_DIM)
    text.append(marks, style=_MARK)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
