"""Results of statements as live tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cli.sql.rendering import ChangelogTable
from penstock.common.errors import ValidationError
from penstock.notebook.live import Changes, Contents, View, watch
from penstock.table.tableau import row_texts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["show_query"]


def show_query(
    result: Any,
    rows: int,
    limit: int | None = None,
    changelog: bool = False,
    bars: str | None = None,
) -> pd.DataFrame:
    """Shows the rows of a TableResult until it ends; returns what there is then.

    Args:
        changelog: The last changes rather than the table that they make.
        bars: `label,number`: the columns to draw.

    Raises:
        ValidationError: There is no such column.
        KeyboardInterrupt: The cell was interrupted; the query has been cancelled.
    """
    import pandas as pd

    schema = result.get_resolved_schema()
    names = list(schema.get_column_names())
    try:
        drawn = _bars(names, bars)
    except ValidationError:
        result.collect().close()  # the query runs already
        raise
    texts = row_texts(schema, result._result.zone)
    if changelog:
        contents: Contents = Changes(rows)
        view = View(["op", *names], lambda row: [row[0], *texts(list(row)[1:])], rows, _moved(drawn))
    else:
        contents = ChangelogTable()
        view = View(names, texts, rows, drawn)
    found = watch(result.collect, contents, lambda: view, limit)
    return pd.DataFrame([list(row) for row in found], columns=list(view.columns))


def _bars(names: list[str], wanted: str | None) -> tuple[int, int] | None:
    if wanted is None:
        return None
    chosen = [name.strip() for name in wanted.split(",")]
    if len(chosen) != 2 or not set(chosen) <= set(names):
        raise ValidationError(
            f"cannot draw '{wanted}'", do=f"give two columns, label,number, of: {', '.join(names)}"
        )
    return names.index(chosen[0]), names.index(chosen[1])


def _moved(bars: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if bars is None else (bars[0] + 1, bars[1] + 1)
