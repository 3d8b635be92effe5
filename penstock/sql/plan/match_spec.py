"""What MATCH_RECOGNIZE asks of the rows of a match, and of the rows that could join one.

An expression over pattern variables is an ordinary expression over *leaves*: values that are taken from the
rows of a match. `A.price + FIRST(B.price, 1)` is `$0 + $1` with the leaves (A, last, 0).price and (B, first,
1).price. So everything but the leaves is computed by whoever computes expressions.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.datatypes import DataType
from penstock.sql.plan.rex import AggCall, Rex, SortKey


@dataclass(frozen=True)
class Navigation:
    """A row of a variable (None: of any): the first or last that matched, or `offset` rows from there."""

    variable: str | None
    first: bool = False
    offset: int = 0


@dataclass(frozen=True)
class RowValue:
    """A column of one row, NULL if there is no such row."""

    navigation: Navigation
    column: int
    type: DataType


@dataclass(frozen=True)
class RowsAggregate:
    """An aggregate over all rows of a variable (None: of all); its arguments are over columns of the input."""

    variable: str | None
    call: AggCall
    type: DataType


@dataclass(frozen=True)
class MatchTime:
    """The time of the match: MATCH_ROWTIME()."""

    type: DataType


Leaf = RowValue | RowsAggregate | MatchTime


@dataclass(frozen=True)
class Definition:
    """DEFINE of one variable: a condition over leaves."""

    variable: str
    condition: Rex
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class Step:
    """A variable of PATTERN with its quantifier; `maximum` None: no bound."""

    name: str
    minimum: int = 1
    maximum: int | None = 1
    greedy: bool = True


@dataclass(frozen=True)
class MatchSpec:
    """The clause. Its node gives the partition columns, then the `outputs` of each match.

    Attributes:
        partition: Columns of the input.
        order: The time first.
        skip: PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST, and the variable of the latter two.
        within_ms: 0 if there is no limit.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    steps: tuple[Step, ...]
    skip: tuple[str, str | None]
    within_ms: int
    definitions: tuple[Definition, ...]
    outputs: tuple[Leaf, ...]
