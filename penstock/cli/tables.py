"""Tables that verbs print.

What they show comes from programs and their data, so none of it is read as markup. On a terminal cells are folded
into its width; elsewhere a script or `grep` reads them, and every row is one line with all that there is to say.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["print_table"]

_NEVER_FOLDED = ("Job ID", "State")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, ruled: bool = False) -> None:
    """Prints rows of anything that has a text; None is an empty cell.

    Args:
        ruled: With a line between the heads and the rows.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD if ruled else None, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(Text(column), no_wrap=column in _NEVER_FOLDED, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=sys.maxsize)
    console.print(table)
