"""How much of an epoch's changes an operator shows: each one, as Flink does, or what they come to.

An operator that sees an epoch as a whole tells of a key what it was before and what it is now. Whoever watches a
small table change wants to see the steps in between, and a program that was written for Flink may print them; with
thousands of rows a second nobody looks, and every step costs. So a small epoch is handed over in pieces, in each of
which a key occurs once: what a key comes to in a piece is its only change there.

    rows      a 1   b 5   a 2   a -4   b 1
    pieces    a 1   b 5 | a 2 | a -4   b 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.errors import ValidationError
from penstock.delta.columns import POSITION

DETAIL = "penstock.changelog.detail"
"""'auto', 'every-change' or 'net'."""

_AUTO_ROWS, _AUTO_PIECES = 1_000, 100
"""A piece costs an operator on columns about a millisecond."""


@dataclass(frozen=True)
class Detail:
    """Up to how many rows and pieces an epoch is cut; None is without limit."""

    most_rows: int | None
    most_pieces: int | None

    @staticmethod
    def of(config: Mapping[str, str]) -> Detail:
        """What the configuration asks for.

        >>> Detail.of({"penstock.changelog.detail": "net"})
        Detail(most_rows=0, most_pieces=0)
        """
        asked = config.get(DETAIL, "auto").lower()
        if asked not in _DETAILS:
            known = ", ".join(f"'{name}'" for name in _DETAILS)
            raise ValidationError(f"invalid value '{asked}' for option '{DETAIL}': expected one of {known}")
        return _DETAILS[asked]

    def covers(self, rows: int) -> bool:
        """Whether so many rows are few enough to be looked at one by one."""
        return self.most_rows is None or rows <= self.most_rows

    def pieces(self, table: pa.Table, key_columns: Sequence[int]) -> list[pa.Table] | None:
        """The rows of an epoch in order of arrival, cut where a key comes again; None if that is too much."""
        if not self.covers(table.num_rows):
            return None
        ordered = table.sort_by(POSITION)
        columns = [ordered.column(i).to_pylist() for i in key_columns]
        keys = [repr(key) for key in zip(*columns, strict=True)] if columns else [""] * ordered.num_rows
        starts, seen = [0], set[str]()
        for row, key in enumerate(keys):
            if key in seen:
                starts.append(row)
                seen.clear()
                if self.most_pieces is not None and len(starts) > self.most_pieces:
                    return None
            seen.add(key)
        ends = [*starts[1:], ordered.num_rows]
        return [ordered.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]


_DETAILS = {
    "auto": Detail(_AUTO_ROWS, _AUTO_PIECES),
    "every-change": Detail(None, None),
    "net": Detail(0, 0),
}
NET = _DETAILS["net"]
