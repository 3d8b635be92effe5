"""Rows of a vertex for people who look at it: the first ones of an epoch, taken only while somebody asks.

    driver    somebody asks for a stage's rows: it is watched for some seconds    `Sampling`
    plan      the epoch's plan names the stages that are watched
    task      a `Tap` at the end of the stage keeps some rows, which go with the report
    driver    the rows of the last committed epoch that had any are the answer

What leaves a stage is shown; of a stage that ends in a sink, what goes into the sink.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.table_type import TableTypeInfo
from penstock.common.types import Row
from penstock.runtime.watched import Watched

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.runtime.plan import SubtaskReport

__all__ = ["RowSample", "Sampling", "Tap"]

ROWS = 20
_CELL_CHARACTERS = 200
_WATCHED_SECONDS = 15.0
_KINDS = ("+I", "-U", "+U", "-D")


@dataclass(frozen=True)
class RowSample:
    """Some rows: numbers, truth values and NULLs as they are, everything else as text."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


class Tap:
    """Where elements or tables pass by in a task; keeps the first ones."""

    def __init__(self, element_type: Any) -> None:
        self._type = element_type
        self._rows: list[tuple[Any, ...]] = []
        self._names: tuple[str, ...] = ()

    def values(self, values: Sequence[Any]) -> None:
        for value in values[: ROWS - len(self._rows)]:
            if isinstance(value, Row) and not self._names:
                self._names = tuple(getattr(value, "_fields", None) or ())
            parts = value if isinstance(value, (tuple, Row)) else (value,)
            self._rows.append(tuple(_cell(part) for part in parts))

    def table(self, table: pa.Table) -> None:
        from penstock.delta.columns import HIDDEN

        missing = ROWS - len(self._rows)
        if missing <= 0:
            return
        width = table.num_columns - len(HIDDEN)
        columns = [column.to_pylist() for column in table.slice(0, missing).columns[: width + 1]]
        for *cells, kind in zip(*columns, strict=True):
            self._rows.append((_KINDS[kind] if kind in range(4) else str(kind), *map(_cell, cells)))

    def taken(self) -> RowSample:
        width = max((len(row) for row in self._rows), default=0)
        return RowSample(self._columns(width), tuple(self._rows))

    def _columns(self, width: int) -> tuple[str, ...]:
        if isinstance(self._type, TableTypeInfo):
            return ("op", *(field.name for field in self._type.row_type.fields))[:width]
        names = getattr(self._type, "get_field_names", None)
        known = tuple(names()) if names is not None else self._names
        if len(known) == width:
            return known
        return ("value",) if width == 1 else tuple(f"f{i}" for i in range(width))


def _cell(value: Any) -> Any:
    """
    >>> _cell(1), _cell(None), _cell(float("nan")), _cell(2**60), _cell(b"x"), len(_cell("long" * 100))
    (1, None, 'nan', '1152921504606846976', "b'x'", 201)
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 1 << 53:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _CELL_CHARACTERS else text[:_CELL_CHARACTERS] + "…"


class Sampling(Watched[RowSample]):
    """The driver's side; may be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(_WATCHED_SECONDS, RowSample(), clock)

    def take(self, reports: Iterable[SubtaskReport]) -> None:
        """The reports of an epoch that was committed; subtasks share the places."""
        seen: dict[int, list[RowSample]] = {}
        for report in reports:
            if report.sample is not None and report.sample.rows:
                seen.setdefault(report.stage, []).append(report.sample)
        with self._lock:
            for stage, samples in seen.items():
                share = math.ceil(ROWS / len(samples))
                rows = tuple(row for sample in samples for row in sample.rows[:share])
                self._found[stage] = RowSample(samples[0].columns, rows[:ROWS])
