"""Rows of a chunk as they were at a place of the log.

A query shows rows at some moment near that place. For the time between the log has, of every change, the row before
and after. So for each key that was touched:

    settled ──────────── place ──────────── shown
       the last change here │ the first change here
       tells what the row   │ tells what the row
       was at `place`       │ was at `place`, before it

and a row that was not touched is as the query showed it. `settled` is a place whose changes the query certainly
showed, `shown` one behind which it showed none. A key that moved is one that went and one that came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.connectors.cdc.model import TRUNCATE, CapturedTable, Change, Place, Values

Key = tuple[Any, ...]


class Touched:
    """What changes of one table tell about the rows at a place: the row of a key, None if there was none."""

    def __init__(self, table: CapturedTable, place: Place) -> None:
        self._at = table.key
        self._place = place
        self._before: dict[Key, Values | None] = {}
        self._later: dict[Key, Values | None] = {}

    def add(self, change: Change) -> None:
        """Changes come in the order of the log."""
        if change.op == TRUNCATE:
            return
        if change.place <= self._place:
            if change.before is not None:
                self._before[self.key(change.before)] = None
            if change.after is not None:
                self._before[self.key(change.after)] = change.after
            return
        if change.before is not None:
            self._later.setdefault(self.key(change.before), change.before)
        if change.after is not None:
            self._later.setdefault(self.key(change.after), None)

    def key(self, row: Values) -> Key:
        return tuple([row[at] for at in self._at])

    def rows(self) -> dict[Key, Values | None]:
        """Of all keys that were touched."""
        return {**self._later, **self._before}


def rewound(rows: Iterable[Values], touched: Touched, inside: Sequence[Values]) -> list[Values]:
    """The rows of a chunk: what a query showed, without those that were touched, and those that are `inside` it."""
    known = touched.rows()
    if not known:
        return list(rows)
    key = touched.key
    return [row for row in rows if key(row) not in known] + list(inside)
