"""A table as notebooks show it: HTML and plain text, and bars of one column over another where they are asked for.

Everything that comes from data is escaped: a notebook that others open runs nothing that a row has brought along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Picture"]

_BAR_WIDTH, _BAR_HEIGHT, _LABEL_WIDTH = 360, 16, 160
_LONGEST_LABEL = 24


@dataclass(frozen=True)
class Picture:
    """What is shown of a result at one moment.

    Attributes:
        total: So many rows there are; `cells` has the first of them.
        note: A line below: how far it is, or how it ended.
        bars: The columns to draw, label and number; None: no drawing.
    """

    columns: Sequence[str]
    cells: Sequence[Sequence[str]]
    total: int
    note: str
    bars: tuple[int, int] | None = None

    def data(self) -> dict[str, str]:
        """By MIME type, as IPython's display publishes it."""
        return {"text/html": self.html(), "text/plain": self.text()}

    def html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in self.cells)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<div>{self._svg()}{table}<p><em>{escape(self._said())}</em></p></div>"

    def text(self) -> str:
        lines = [list(self.columns), *map(list, self.cells)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)] if self.columns else []
        shown = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*shown, self._said()])

    def _said(self) -> str:
        rows = "1 row" if self.total == 1 else f"{self.total} rows"
        first = f", the first {len(self.cells)} are shown" if len(self.cells) < self.total else ""
        return f"{rows}{first} · {self.note}"

    def _svg(self) -> str:
        if self.bars is None:
            return ""
        label, number = self.bars
        drawn = [(row[label], value) for row in self.cells if (value := _number(row[number])) is not None]
        most = max((abs(value) for _, value in drawn), default=0.0) or 1.0
        parts = []
        for line, (name, value) in enumerate(drawn):
            y, width = line * (_BAR_HEIGHT + 4), abs(value) / most * _BAR_WIDTH
            colour = "#3b7dd8" if value >= 0 else "#d8573b"
            parts.append(
                f'<text x="{_LABEL_WIDTH - 6}" y="{y + 12}" text-anchor="end">{escape(name[:_LONGEST_LABEL])}</text>'
                f'<rect x="{_LABEL_WIDTH}" y="{y}" width="{width:.1f}" height="{_BAR_HEIGHT}" fill="{colour}"/>'
                f'<text x="{_LABEL_WIDTH + width + 6:.1f}" y="{y + 12}">{escape(f"{value:g}")}</text>'
            )
        size = f'width="{_LABEL_WIDTH + _BAR_WIDTH + 100}" height="{len(drawn) * (_BAR_HEIGHT + 4)}"'
        return (
            f'<svg {size} font-size="12" font-family="sans-serif" fill="currentColor">{"".join(parts)}</svg>'
        )


def _number(text: str) -> float | None:
    """
    >>> _number("1.5"), _number("ann"), _number("NaN")
    (1.5, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
