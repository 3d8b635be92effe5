"""What is computed over a frame of rows: aggregates, and the functions that only make sense in an order.

ROW_NUMBER, RANK, DENSE_RANK and LAG go row by row, also where the frame is a RANGE and aggregates are the same for
all rows of one time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.delta.aggregates import AggregateCall, AggSpec
from penstock.delta.base import Row

RANKING = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})


@dataclass(frozen=True)
class OverFrame:
    """From how far back a frame reaches to the current row.

    `preceding` is a number of rows, or milliseconds if not `rows`; None is UNBOUNDED PRECEDING.
    """

    rows: bool
    preceding: int | None = None

    def __post_init__(self) -> None:
        if self.preceding is not None and self.preceding < 0:
            raise ValidationError(f"a frame that begins {self.preceding} rows or ms before the current row")


@dataclass(frozen=True)
class OrderFunction:
    """ROW_NUMBER, RANK, DENSE_RANK or LAG.

    Attributes:
        column: What LAG takes from the row before.
        offset: How many rows before.
        default: What LAG gives where there is no such row; or `default_column`, of the current row.
    """

    function: str
    column: int | None = None
    offset: int = 1
    default: Any = None
    default_column: int | None = None


OverSpec = AggSpec | OrderFunction


class OverFunction(ABC):
    """One function over a frame. The accumulator is plain and picklable."""

    per_row = True
    """Whether rows of one time must be added and asked one by one, whatever the frame."""

    def open(self, function_context: Any) -> None:
        """Before anything else; functions of users want to know."""

    def close(self) -> None:
        """The job is over."""

    @abstractmethod
    def create(self) -> Any: ...

    @abstractmethod
    def add(self, acc: Any, rows: Sequence[Row], order: Any) -> Any:
        """Rows of one place in the order came into the frame; returns the accumulator to keep."""

    def remove(self, acc: Any, rows: Sequence[Row]) -> Any:
        """The frame has left rows behind."""
        return acc

    @abstractmethod
    def result(self, acc: Any, row: Row) -> Any:
        """For the row that was added last."""


class _Aggregate(OverFunction):
    per_row = False

    def __init__(self, spec: AggSpec, bounded: bool) -> None:
        self._call = AggregateCall(spec, retracts=bounded)

    def open(self, function_context: Any) -> None:
        self._call.open(function_context)

    def close(self) -> None:
        self._call.close()

    def create(self) -> Any:
        return self._call.create()

    def add(self, acc: Any, rows: Sequence[Row], order: Any) -> Any:
        return self._call.update(acc, rows, None)

    def remove(self, acc: Any, rows: Sequence[Row]) -> Any:
        return self._call.update(acc, rows, [-1] * len(rows))

    def result(self, acc: Any, row: Row) -> Any:
        return self._call.result(acc)


class _Ranking(OverFunction):
    """Accumulator: (rows so far, rank, place in the order)."""

    def __init__(self, function: str) -> None:
        self._function = function

    def create(self) -> Any:
        return (0, 0, None)

    def add(self, acc: Any, rows: Sequence[Row], order: Any) -> Any:
        count, rank, last = acc
        for _ in rows:
            count += 1
            if self._function == "ROW_NUMBER":
                rank = count
            elif rank == 0 or order != last:
                rank = count if self._function == "RANK" else rank + 1
            last = order
        return (count, rank, last)

    def result(self, acc: Any, row: Row) -> Any:
        return acc[1]


class _Lag(OverFunction):
    """Accumulator: the last `offset + 1` values."""

    def __init__(self, spec: OrderFunction) -> None:
        if spec.column is None or spec.offset < 0:
            raise ValidationError(f"LAG of column {spec.column} by {spec.offset} rows")
        self._spec = spec
        self._column = spec.column

    def create(self) -> Any:
        return []

    def add(self, acc: Any, rows: Sequence[Row], order: Any) -> Any:
        acc.extend(row[self._column] for row in rows)
        del acc[: -(self._spec.offset + 1)]
        return acc

    def result(self, acc: Any, row: Row) -> Any:
        if len(acc) > self._spec.offset:
            return acc[0]
        column = self._spec.default_column
        return self._spec.default if column is None else row[column]


def make_function(spec: OverSpec, *, bounded: bool) -> OverFunction:
    """The function of a call; `bounded` if rows leave the frame.

    Raises:
        NotSupportedError: It has no streaming form.
    """
    name = spec.function.upper()
    if name in RANKING:
        return _Ranking(name)
    if isinstance(spec, AggSpec):
        return _Aggregate(spec, bounded)
    if name == "LAG":
        return _Lag(spec)
    raise NotSupportedError(f"{name} in a streaming OVER window", "it depends on rows that have not come yet")


class FrameFunctions:
    """All functions of one OVER window."""

    def __init__(self, specs: Sequence[OverSpec], *, bounded: bool) -> None:
        self._functions = [make_function(spec, bounded=bounded) for spec in specs]
        self._shared = [not function.per_row for function in self._functions]

    def open(self, function_context: Any) -> None:
        """Opens the functions of users, before anything else is asked of them."""
        for function in self._functions:
            function.open(function_context)

    def close(self) -> None:
        for function in self._functions:
            function.close()

    def create(self) -> list[Any]:
        return [function.create() for function in self._functions]

    def add_row(self, accs: list[Any], row: Row, order: Any) -> Row:
        """Adds one row; returns its results."""
        results = []
        for index, function in enumerate(self._functions):
            acc = accs[index] = function.add(accs[index], (row,), order)
            results.append(function.result(acc, row))
        return tuple(results)

    def add_peers(self, accs: list[Any], rows: Sequence[Row], order: Any) -> list[Row]:
        """Adds rows of one place in the order, for which aggregates are the same; returns their results."""
        columns = []
        for index, function in enumerate(self._functions):
            if self._shared[index]:
                acc = accs[index] = function.add(accs[index], rows, order)
                columns.append([function.result(acc, row) for row in rows])
                continue
            column = []
            for row in rows:
                acc = accs[index] = function.add(accs[index], (row,), order)
                column.append(function.result(acc, row))
            columns.append(column)
        return list(zip(*columns, strict=True)) if columns else [()] * len(rows)

    def remove(self, accs: list[Any], rows: Sequence[Row]) -> None:
        for index, function in enumerate(self._functions):
            accs[index] = function.remove(accs[index], rows)
