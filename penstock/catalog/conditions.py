"""Conditions on a table's columns that a connector may use to leave rows out.

They are in two levels: all clauses must hold, and of a clause at least one condition. Whoever reads the table checks
them again, so a connector may use some of them, or none, and may let rows through that it is not sure of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
NULL_TESTS = ("IS NULL", "IS NOT NULL")


@dataclass(frozen=True)
class Condition:
    """A stored column compared with a value (as plain Python), or tested for NULL."""

    column: str
    operator: str
    value: Any = None

    def __str__(self) -> str:
        if self.operator in NULL_TESTS:
            return f"{self.column} {self.operator}"
        shown = f"'{self.value}'" if isinstance(self.value, str) else self.value
        return f"{self.column} {self.operator} {shown}"


Clause = tuple[Condition, ...]


def clauses_text(clauses: tuple[Clause, ...]) -> str:
    """For EXPLAIN.

    >>> clauses_text(((Condition("a", ">", 1),), (Condition("b", "=", "x"), Condition("b", "IS NULL"))))
    "a > 1, b = 'x' OR b IS NULL"
    """
    return ", ".join(" OR ".join(map(str, clause)) for clause in clauses)
