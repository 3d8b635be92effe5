"""Rows as lines of text: Flink's tableau, with the client's widths, types and row limit.

Where all rows are known the columns are as wide as what they hold. A stream's rows are shown as they come, so
its columns are as wide as their types can need. Either way no column is wider than the limit; what does not
fit ends in `...`.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.cli.sql.options import ClientOptions
from penstock.common.types import Row, RowKind
from penstock.table.tableau import MAX_WIDTH, row_texts, tableau

__all__ = ["ChangelogTable", "Count", "changelog_lines", "row_count", "table_lines"]

_RETRACTS = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


class Count:
    """How many rows were shown, and whether there were more."""

    def __init__(self) -> None:
        self.rows = 0
        self.cut = False


def table_lines(
    schema: ResolvedSchema, rows: Iterable[Row], options: ClientOptions, count: Count
) -> Iterator[str]:
    """All rows, then the widths, then the lines."""
    source = iter(rows)
    cells_of = _cells(schema, options)
    cells = [cells_of(row) for row in islice(source, options.max_rows)]
    count.rows, count.cut = len(cells), next(source, None) is not None
    heads = _heads(schema, options)
    columns = zip(*heads, *cells, strict=True) if heads[0] else iter(())
    widths = [min(options.max_column_width, max(map(display_width, column))) for column in columns]
    border = _border(widths)
    yield border
    yield from (_line(head, widths) for head in heads)
    yield border
    yield from (_line(row, widths) for row in cells)
    if cells:
        yield border


def changelog_lines(
    schema: ResolvedSchema, rows: Iterable[Row], options: ClientOptions, count: Count
) -> Iterator[str]:
    """A line per change, as soon as it is there; the first column says what it does: +I, -U, +U, -D."""
    heads = _heads(schema, options)
    widths = [2, *_type_widths(schema, heads, options.max_column_width)]
    border = _border(widths)
    yield border
    for i, head in enumerate(heads):
        yield _line(["op" if i == 0 else "", *head], widths)
    yield border
    cells_of = _cells(schema, options)
    for row in rows:
        yield _line([str(row.get_row_kind()), *cells_of(row)], widths)
        count.rows += 1
    if count.rows:
        yield border


class ChangelogTable:
    """The table that a changelog leaves, rows in the order in which they came to be.

    One thread applies changes while another looks at the rows.
    """

    def __init__(self) -> None:
        self._alive: dict[str, list[Row]] = {}
        self._lock = threading.Lock()

    def apply(self, row: Row) -> None:
        key = repr(list(row))
        with self._lock:
            same = self._alive.setdefault(key, [])
            if row.get_row_kind() not in _RETRACTS:
                same.append(row)
            elif same:
                same.pop()
            if not same:
                del self._alive[key]

    def rows(self) -> list[Row]:
        with self._lock:
            return [row for same in self._alive.values() for row in same]


def row_count(count: int, seconds: float | None = None) -> str:
    """The last line of a result.

    >>> row_count(3, 0.421)
    '3 rows in 0.42 s'
    >>> row_count(0)
    'Empty set'
    """
    shown = {0: "Empty set", 1: "1 row"}.get(count, f"{count} rows")
    if seconds is not None:
        return f"{shown} in {seconds:.2f} s"
    return shown if count == 0 else f"{shown} in set"


def display_width(text: str) -> int:
    """Columns that a text takes on a terminal; East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _heads(schema: ResolvedSchema, options: ClientOptions) -> list[list[str]]:
    heads = [list(schema.get_column_names())]
    if options.show_types:
        heads.append([t.as_summary() for t in schema.get_column_data_types()])
    return heads


def _type_widths(schema: ResolvedSchema, heads: list[list[str]], limit: int) -> list[int]:
    """What Flink's layout gives to the types, as the border of its empty table shows."""
    border = next(tableau(schema, [], with_kind=True))
    widths = [len(part) - 2 for part in border.strip("+").split("+")][1:]
    wanted = [
        max(limit if w == MAX_WIDTH else w, *(display_width(head[i]) for head in heads))
        for i, w in enumerate(widths)
    ]
    return [min(limit, w) for w in wanted]


def _border(widths: Sequence[int]) -> str:
    return "+" + "+".join("-" * (w + 2) for w in widths) + "+"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "|" + "|".join(f" {_fit(c, w)} " for c, w in zip(cells, widths, strict=True)) + "|"


def _cells(schema: ResolvedSchema, options: ClientOptions) -> Callable[[Row], list[str]]:
    """The values of a row as texts, each on one line."""
    texts = row_texts(schema, options.zone)
    return lambda row: [
        text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") for text in texts(row)
    ]


def _fit(text: str, width: int) -> str:
    """Right-aligned, cut where it is too long."""
    size = display_width(text)
    if size <= width:
        return " " * (width - size) + text
    dots = "..."[:width]
    kept, used = "", 0
    for char in text:
        if used + display_width(char) > width - len(dots):
            break
        kept, used = kept + char, used + display_width(char)
    return kept + dots + " " * (width - used - len(dots))
