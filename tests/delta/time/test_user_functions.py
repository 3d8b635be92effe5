"""Aggregate functions of users are opened and closed wherever a query may use them, not only in GROUP BY."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.datatypes import BigIntType
from penstock.common.ids import MAX_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT
from penstock.delta.group_aggregate import GroupAggregate
from penstock.delta.time.ordered_over import OrderedOver
from penstock.delta.time.over import EventTimeOver
from penstock.delta.time.over_functions import OverFrame
from penstock.delta.time.window_aggregate import AttachedWindowAggregate, WindowAggregate
from penstock.delta.time.windows import AttachedWindow, tumble
from tests.delta.harness import Harness
from tests.delta.time.streams import at


class Scaled:
    """A sum times what `open` was told."""

    calls: list[str] = []

    def open(self, function_context: Any) -> None:
        self.calls.append("open")
        self.factor = function_context

    def close(self) -> None:
        self.calls.append("close")

    def create_accumulator(self) -> list[int]:
        return [0 * self.factor]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] += value

    def retract(self, accumulator: list[int], value: int) -> None:
        accumulator[0] -= value

    def merge(self, accumulator: list[int], others: list[list[int]]) -> None:
        for other in others:
            accumulator[0] += other[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0] * self.factor


SCALED = AggSpec("USER", (1,), BigIntType(), user_function=Scaled())
OPERATORS = {
    "group": lambda: GroupAggregate((0,), [SCALED]),
    "tumbling window": lambda: WindowAggregate((0,), 2, tumble(1000), [SCALED], properties=()),
    "attached window": lambda: AttachedWindowAggregate((0,), AttachedWindow(3, 4), [SCALED], properties=()),
    "over time": lambda: EventTimeOver((0,), 2, OverFrame(rows=False), [SCALED]),
    "over anything": lambda: OrderedOver((0,), [(1, True)], True, [SCALED]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_function_is_opened_once_before_its_first_row_and_closed_at_the_end(name: str) -> None:
    Scaled.calls.clear()
    harness = Harness(OPERATORS[name], function_context=10)
    assert Scaled.calls == []
    for value, watermark in [(3, 100), (4, MAX_WATERMARK)]:
        harness.epoch([(("a", value, at(value), at(0), at(1000)), INSERT)], watermark=watermark)
    harness.close()
    assert Scaled.calls == ["open", "close"]
    results = [row[1] if len(row) == 2 else row[-1] for row, _ in harness.changes]
    assert results[-1] == 70
