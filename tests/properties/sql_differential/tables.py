"""Random tables: a schema and a history of changes, in the file formats that can carry it."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from penstock.delta.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from tests.properties.sql_differential.types import INT, TIMESTAMP, TYPES, SqlType

Values = tuple[Any, ...]
FIRST_MOMENT = dt.datetime(2024, 3, 1)


@dataclass(frozen=True)
class Column:
    name: str
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True)
class Change:
    """An insert has no `before`, a delete no `after`, an update has both."""

    before: Values | None
    after: Values | None


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    format: str
    changes: tuple[Change, ...]
    primary_key: bool = False
    """The first column is the primary key."""
    rowtime: str = ""
    """The column with a watermark that no row is ever behind."""

    @property
    def updating(self) -> bool:
        return self.format not in ("json", "csv")

    def rows(self) -> list[Values]:
        """What the changes leave."""
        left: list[Values] = []
        for change in self.changes:
            if change.before is not None:
                left.remove(change.before)
            if change.after is not None:
                left.append(change.after)
        return left

    def changelog(self) -> list[tuple[int, Values]]:
        """The changes as rows with a kind."""
        found = []
        for before, after in ((c.before, c.after) for c in self.changes):
            if before is not None:
                found.append((DELETE if after is None else UPDATE_BEFORE, before))
            if after is not None:
                found.append((INSERT if before is None else UPDATE_AFTER, after))
        return found

    def ddl(self, path: pathlib.Path) -> str:
        columns = [f"{c.name} {c.type.flink}{'' if c.nullable else ' NOT NULL'}" for c in self.columns]
        if self.primary_key:
            columns.append(f"PRIMARY KEY ({self.columns[0].name}) NOT ENFORCED")
        if self.rowtime:
            columns.append(f"WATERMARK FOR {self.rowtime} AS {self.rowtime} - INTERVAL '1' DAY")
        options = {"connector": "filesystem", "path": path.as_uri(), "format": self.format}
        if self.format == "csv":
            options["csv.null-literal"] = "NULL"
        settings = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        return f"CREATE TABLE {self.name} ({', '.join(columns)}) WITH ({settings})"

    def duck_ddl(self) -> str:
        return f"CREATE TABLE {self.name} ({', '.join(f'{c.name} {c.type.duck}' for c in self.columns)})"

    def file_text(self) -> str:
        return "".join(f"{_WRITERS[self.format](self, change)}\n" for change in self.changes)

    def record(self, row: Values) -> dict[str, Any]:
        return {c.name: c.type.plain(v) for c, v in zip(self.columns, row, strict=True)}


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda v: float(v) if isinstance(v, decimal.Decimal) else str(v))


def _plain_json(table: Table, change: Change) -> str:
    assert change.after is not None
    return _json(table.record(change.after))


def _csv(table: Table, change: Change) -> str:
    assert change.after is not None
    cells = table.record(change.after).values()
    return ",".join("NULL" if v is None else f'"{v}"' if isinstance(v, str) else str(v) for v in cells)


def _debezium(table: Table, change: Change) -> str:
    op = "c" if change.before is None else "d" if change.after is None else "u"
    before, after = (None if row is None else table.record(row) for row in (change.before, change.after))
    return _json({"before": before, "after": after, "op": op})


def _canal(table: Table, change: Change) -> str:
    kind, data, old = _with_old(table, change)
    return _json({"data": [data], "old": None if old is None else [old], "type": kind.upper()})


def _maxwell(table: Table, change: Change) -> str:
    kind, data, old = _with_old(table, change)
    return _json({"data": data, "old": old, "type": kind})


def _with_old(table: Table, change: Change) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    """These formats tell of the former row only what has changed."""
    before, after = change.before, change.after
    if before is None or after is None:
        row = before if after is None else after
        assert row is not None
        return "delete" if after is None else "insert", table.record(row), None
    data, former = table.record(after), table.record(before)
    return "update", data, {name: v for name, v in former.items() if v != data[name]}


_WRITERS: dict[str, Callable[[Table, Change], str]] = {
    "json": _plain_json,
    "csv": _csv,
    "debezium-json": _debezium,
    "canal-json": _canal,
    "maxwell-json": _maxwell,
}
FORMATS = ("debezium-json", "json", "canal-json", "maxwell-json", "csv")


# --- strategies -------------------------------------------------------------------------------------------


@st.composite
def tables(draw: Any, name: str, max_changes: int = 20) -> Table:
    file_format = draw(st.sampled_from(FORMATS))
    appends = file_format in ("json", "csv")
    primary_key = draw(st.booleans())
    rowtime = appends and draw(st.booleans())
    types = [INT, *draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))]
    columns = [Column(f"{name}{i}", t, draw(st.integers(0, 3)) > 0) for i, t in enumerate(types)]
    if primary_key:
        columns[0] = Column(f"{name}0", INT, False)
    if rowtime:
        columns.append(Column(f"{name}_time", TIMESTAMP, False))
    cells = [st.sampled_from((*c.type.domain, None) if c.nullable else c.type.domain) for c in columns]
    step = st.tuples(st.integers(0, 8), st.integers(0, 9), st.tuples(*cells))
    least = draw(st.sampled_from((0, 6, 8, 8, 10, 10, 12, 14)))
    steps = draw(st.lists(step, min_size=least, max_size=max_changes))
    changes = _history(steps, appends, primary_key, rowtime)
    return Table(name, tuple(columns), file_format, changes, primary_key, columns[-1].name if rowtime else "")


def _history(
    steps: list[tuple[int, int, Values]], appends: bool, primary_key: bool, rowtime: bool
) -> tuple[Change, ...]:
    """Steps are (what: 0-3 insert, 4 update, 5-6 delete, 7-8 insert a row that is there; which row; values)."""
    changes: list[Change] = []
    present: list[Values] = []
    for number, (what, which, drawn) in enumerate(steps):
        if what > 6 and present:
            drawn = present[which % len(present)]
        row = (number if appends else number % 11, *drawn[1:]) if primary_key else drawn
        if rowtime:
            row = (*row[:-1], FIRST_MOMENT + dt.timedelta(minutes=number * 17 % 41))
        taken = primary_key and any(row[0] == other[0] for other in present)
        if appends or not present or (what not in (4, 5, 6) and not taken):
            changes.append(Change(None, row))
            present.append(row)
            continue
        before = present.pop(which % len(present))
        if what in (5, 6):
            changes.append(Change(before, None))
            continue
        after = (before[0], *row[1:]) if primary_key else row
        changes.append(Change(before, after))
        present.append(after)
    return tuple(changes)
