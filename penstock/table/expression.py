"""Expressions of the Table API: columns, constants, and what is computed of them.

    >>> from penstock.table.expressions import col
    >>> print((col("price") * 2).round(1).alias("twice"))
    as(round(times(price, 2), 1), 'twice')

An expression only says what is meant. A table's method looks its names up among the table's columns and finds the
types with the binder that SQL uses (`table/resolving/`). The methods are in `expression_parts/`, by subject.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from penstock.table.expression_parts.aggregates import Aggregates
from penstock.table.expression_parts.bitmaps import Bitmaps
from penstock.table.expression_parts.collections import Collections
from penstock.table.expression_parts.documents import Documents
from penstock.table.expression_parts.logic import Logic
from penstock.table.expression_parts.numbers import Numbers
from penstock.table.expression_parts.texts import Texts
from penstock.table.expression_parts.times import Times
from penstock.table.expression_parts.words import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]

T = TypeVar("T")


class Expression(Numbers, Logic, Texts, Times, Collections, Aggregates, Documents, Bitmaps, Generic[T]):
    """Something that has a value for each row, or for each group of rows."""
