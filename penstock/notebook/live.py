"""Rows as they come, shown as one table that changes in its place.

Statements run and rows are read in a thread of their own; the notebook's thread looks at them a few times a second
and draws what has changed. Interrupting the cell cancels the job, leaves the table as it was then, and goes on as an
interrupt does. (Spark is not started by the notebook's own thread: there PySpark would take over the interrupt and
end the jobs of all cells.)
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from penstock.cli.sql.worker import Worker, name_spark_jobs
from penstock.common.types import Row
from penstock.notebook.drawing import Picture

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Changes", "Contents", "Latest", "Shown", "View", "in_worker", "live", "watch"]

_DRAW_SECONDS = 0.25
_ROWS = 20
_WORKER = Worker()


class Contents(Protocol):
    """What is kept of the rows that have come; one thread adds while another looks."""

    def apply(self, row: Any) -> None: ...

    def rows(self) -> list[Any]: ...


class Latest:
    """The last rows, oldest first: of a stream there may be any number."""

    def __init__(self, kept: int) -> None:
        self._rows: deque[Any] = deque(maxlen=kept)
        self._lock = threading.Lock()

    def apply(self, row: Any) -> None:
        with self._lock:
            self._rows.append(row)

    def rows(self) -> list[Any]:
        with self._lock:
            return list(self._rows)


class Changes(Latest):
    """The last changes of a changelog, each with its kind (+I, -U, +U, -D) before its values."""

    def apply(self, row: Row) -> None:
        super().apply(Row(str(row.get_row_kind()), *row))


@dataclass
class View:
    """How a result is shown.

    Attributes:
        cells: A row as texts.
        shown: At most so many rows.
        bars: Columns to draw as bars: label and number.
    """

    columns: Sequence[str]
    cells: Callable[[Any], Sequence[str]]
    shown: int = _ROWS
    bars: tuple[int, int] | None = None

    def picture(self, rows: Sequence[Any], note: str) -> Picture:
        shown = [list(self.cells(row)) for row in islice(rows, self.shown)]
        return Picture(self.columns, shown, len(rows), note, self.bars)


@dataclass
class Shown:
    """A place in the notebook's output that is drawn again when something has changed."""

    _handle: Any = field(default=None)
    _last: dict[str, str] | None = None

    def draw(self, picture: Picture) -> None:
        from IPython.display import display

        data = picture.data()
        if data == self._last:
            return
        self._last = data
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def in_worker(action: Callable[[], Any], look: Callable[[], None] = lambda: None) -> Any:
    """What the action returns; `look` is called now and then while it runs.

    Raises:
        KeyboardInterrupt: The cell was interrupted; the action has been cancelled.
    """

    def run() -> Any:
        name_spark_jobs()
        return action()

    task = _WORKER.start(run)
    try:
        while not task.wait(_DRAW_SECONDS):
            look()
    except KeyboardInterrupt:
        _WORKER.cancel(task)
        raise
    return task.result()


def watch(
    open_rows: Callable[[], Iterable[Any]],
    contents: Contents,
    make_view: Callable[[], View],
    most: int | None = None,
) -> list[Any]:
    """Reads rows until they end, `most` have come or the cell is interrupted; what is there then.

    Args:
        open_rows: Starts the query; called in the thread that reads. What it gives is closed at the end.
        make_view: Called once the query has started.

    Raises:
        KeyboardInterrupt: The cell was interrupted; the query has been cancelled.
    """
    shown, seen = Shown(), 0

    def read() -> None:
        nonlocal seen
        rows = open_rows()
        try:
            for row in islice(rows, most):
                contents.apply(row)
                seen += 1
        finally:
            getattr(rows, "close", lambda: None)()

    def draw(note: str) -> None:
        shown.draw(make_view().picture(contents.rows(), note))

    try:
        in_worker(read, lambda: draw("running") if seen else None)
    except KeyboardInterrupt:
        if seen:
            draw("cancelled")
        raise
    draw("finished" if most is None or seen < most else f"stopped after {most}")
    return contents.rows()


def live(result: Any, rows: int = _ROWS, limit: int | None = None) -> pd.DataFrame:
    """Runs a DataStream, a Table or a TableResult and shows its newest rows while it does; returns them as a frame.

    Args:
        rows: So many are shown, and of a stream kept.
        limit: Ends the job after so many elements or changes.

    Raises:
        KeyboardInterrupt: The cell was interrupted; the job has been cancelled.
    """
    import pandas as pd

    from penstock.table import Table, TableResult

    if isinstance(result, (Table, TableResult)):
        from penstock.notebook.results import show_query

        return show_query(result.execute() if isinstance(result, Table) else result, rows, limit)
    names: list[str] = []

    def view() -> View:
        return View(names or ["element"], lambda element: [str(value) for value in _values(element)], rows)

    class _Named(Latest):
        def apply(self, row: Any) -> None:
            if not names:
                names.extend(_names(row))
            super().apply(row)

    found = watch(result.execute_and_collect, _Named(rows), view, limit)
    return pd.DataFrame([_values(element) for element in found], columns=names or ["element"])


def _values(element: Any) -> list[Any]:
    return list(element) if isinstance(element, (Row, tuple, list)) else [element]


def _names(element: Any) -> list[str]:
    fields = getattr(element, "_fields", None)
    width = len(_values(element))
    if fields and len(fields) == width:
        return [str(name) for name in fields]
    return [f"f{i}" for i in range(width)] if isinstance(element, (Row, tuple, list)) else ["element"]
