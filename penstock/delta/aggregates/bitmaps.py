"""BITMAP_BUILD_AGG and its kin: sets of numbers, as the bytes of a Roaring bitmap or as their size."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from penstock.common import roaring
from penstock.delta.aggregates.base import CountingAggregate

_COMBINE: dict[str, Callable[[set[int], set[int]], set[int]]] = {"AND": and_, "OR": or_, "XOR": xor}


class BitmapAgg(CountingAggregate):
    """`operator` is BUILD over numbers, or AND, OR, XOR over bitmaps; NULL for no value at all."""

    def __init__(self, operator: str, cardinality: bool) -> None:
        self._operator = operator
        self._cardinality = cardinality

    def accumulate(self, acc: Any, value: Any) -> Any:
        acc[1].add(value, 1)
        return acc

    def retract(self, acc: Any, value: Any) -> Any:
        acc[1].add(value, -1)
        return acc

    def result(self, acc: Any) -> bytes | int | None:
        values = [(value, count) for value, count in acc[1].items() if count > 0]
        if not values:
            return None
        numbers = self._numbers(values)
        return len(numbers) if self._cardinality else roaring.dump(numbers)

    def _numbers(self, values: list[tuple[Any, int]]) -> set[int]:
        if self._operator == "BUILD":
            return {value & 0xFFFFFFFF for value, _ in values}
        if self._operator == "XOR":  # a bitmap that came twice is gone
            values = [pair for pair in values if pair[1] % 2]
        sets = [roaring.load(bytes(value)) for value, _ in values]
        return reduce(_COMBINE[self._operator], sets) if sets else set()
