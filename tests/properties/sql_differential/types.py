"""The column types of generated programs, and text in two dialects.

Domains are tiny, so that joins meet, groups have several members and duplicates are common. Doubles are halves, so
that sums are exact in any order; there is no multiplication of doubles, which could make a negative zero.
"""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass
from typing import Any, NamedTuple


class Text(NamedTuple):
    """The same piece of SQL for Flink and for DuckDB."""

    flink: str
    duck: str


def sql(template: str, *parts: Text, duck: str | None = None) -> Text:
    """Fills a template in both dialects; `duck` is DuckDB's where it has to be another one.

    >>> sql("{} / {}", Text("a", "a"), Text("2", "2"), duck="{} // {}")
    Text(flink='a / 2', duck='a // 2')
    """
    other = template if duck is None else duck
    return Text(template.format(*(p.flink for p in parts)), other.format(*(p.duck for p in parts)))


def listed(parts: list[Text], separator: str = ", ") -> Text:
    return Text(separator.join(p.flink for p in parts), separator.join(p.duck for p in parts))


@dataclass(frozen=True)
class SqlType:
    """A type: its name in both dialects, its values, and what a collected value of it is in Python."""

    flink: str
    duck: str
    domain: tuple[Any, ...]
    python: type

    @property
    def is_number(self) -> bool:
        return self in NUMBERS

    def literal(self, value: Any) -> Text:
        """A constant of exactly this type."""
        if value is None:
            return Text(f"CAST(NULL AS {self.flink})", f"CAST(NULL AS {self.duck})")
        if self.python is bool:
            text = str(value).upper()
        elif self.python is str:
            text = f"'{value}'"
        elif self in (DATE, TIMESTAMP):
            text = f"{self.duck} '{self.plain(value)}'"
        elif self is INT:
            return sql(f"({value})" if value < 0 else str(value))
        else:
            text = str(value)
        if self in (BOOLEAN, DATE):
            return sql(text)
        return Text(f"CAST({text} AS {self.flink})", f"CAST({text} AS {self.duck})")

    def plain(self, value: Any) -> Any:
        """A value as the text and JSON formats spell it."""
        if isinstance(value, dt.datetime):
            return value.isoformat(sep=" ", timespec="milliseconds")
        return value.isoformat() if isinstance(value, dt.date) else value


def _moment(day: int, hour: int, millis: int) -> dt.datetime:
    return dt.datetime(2024, 2, day, hour, 30, 15, millis * 1000)


INT = SqlType("INT", "INTEGER", (0, 1, 2, 3, -2, 7), int)
BIGINT = SqlType("BIGINT", "BIGINT", (0, 1, 2, 3, -1, 3_000_000_000), int)
DECIMAL = SqlType(
    "DECIMAL(10, 2)",
    "DECIMAL(10, 2)",
    tuple(decimal.Decimal(t) for t in ("0.00", "1.00", "2.00", "0.50", "-1.25", "10.01")),
    decimal.Decimal,
)
DOUBLE = SqlType("DOUBLE", "DOUBLE", (0.0, 1.0, 2.0, 0.5, -1.5), float)
STRING = SqlType("STRING", "VARCHAR", ("a", "b", "ab", "B", ""), str)
BOOLEAN = SqlType("BOOLEAN", "BOOLEAN", (False, True), bool)
DATE = SqlType("DATE", "DATE", (dt.date(2024, 2, 28), dt.date(2024, 2, 29), dt.date(1969, 12, 31)), dt.date)
TIMESTAMP = SqlType(
    "TIMESTAMP(3)",
    "TIMESTAMP",
    (_moment(28, 0, 0), _moment(28, 23, 1), _moment(29, 23, 999)),
    dt.datetime,
)

NUMBERS = (INT, BIGINT, DECIMAL, DOUBLE)
TYPES = (INT, STRING, BIGINT, DECIMAL, DOUBLE, DATE, TIMESTAMP, BOOLEAN)
ORDERED = tuple(t for t in TYPES if t is not BOOLEAN)


def wider(left: SqlType, right: SqlType) -> SqlType:
    """The type of a number that may be either."""
    return NUMBERS[max(NUMBERS.index(left), NUMBERS.index(right))] if left is not right else left
