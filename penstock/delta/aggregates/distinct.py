"""DISTINCT in front of any aggregate: a value reaches the function when it appears and when it is gone."""

from __future__ import annotations

from typing import Any

from penstock.delta.aggregates.base import AggregateLogic, CountingAggregate


class DistinctValues(CountingAggregate):
    """Wraps a function. Accumulator: [the function's accumulator, counts]."""

    def __init__(self, function: AggregateLogic) -> None:
        self._function = function

    @property
    def skips_nulls(self) -> bool:  # type: ignore[override]
        return self._function.skips_nulls

    def open(self, function_context: Any) -> None:
        self._function.open(function_context)

    def close(self) -> None:
        self._function.close()

    def initial(self) -> Any:
        return self._function.create()

    def accumulate(self, acc: Any, value: Any) -> Any:
        if acc[1].add(value, 1) == 1:
            acc[0] = self._function.accumulate(acc[0], value)
        return acc

    def retract(self, acc: Any, value: Any) -> Any:
        if acc[1].add(value, -1) == 0:
            acc[0] = self._function.retract(acc[0], value)
        return acc

    def result(self, acc: Any) -> Any:
        return self._function.result(acc[0])
