"""The watermark of a table with partitions is that of the slowest one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.delta.columns import filled, names, numbered
from penstock.runtime.tables.split_watermark import SplitWatermarkTableOperator, split_tag
from penstock.runtime.tables.watermark import WatermarkTableOperator


class Subtask:
    """One subtask of the operator: an epoch is what each split gives, and the processing time."""

    def __init__(self, idle_ms: int | None = None, parallelism: int = 1) -> None:
        self.operator = SplitWatermarkTableOperator(1, 200, 0, 0, idle_ms)
        self.marks: list[Any] = []
        self.before: list[int] = []
        clock = SimpleNamespace(processing_time_ms=0)
        self.operator.context = SimpleNamespace(clock=clock, batch_mode=False, parallelism=parallelism)  # type: ignore[assignment]
        self.operator.output = self  # type: ignore[assignment]

    def emit_table(self, table: pa.Table) -> None:
        self.before += table.column(table.num_columns - 2).to_pylist()

    def emit_watermark(self, watermark: int) -> None:
        self.marks.append(watermark)

    def emit_idle(self, idle: bool) -> None:
        if idle:
            self.marks.append("idle")

    def epoch(self, now_ms: int, **times: list[int]) -> list[Any]:
        """What is said at the end of an epoch; `before` has the watermarks before its rows."""
        self.marks, self.before = [], []
        self.operator.context.clock.processing_time_ms = now_ms
        for split, values in times.items():
            column = pa.array(values, pa.int64()).cast(pa.timestamp("ms"))
            rows = len(values)
            hidden = [filled(0, rows, "int8"), filled(split_tag(split), rows), numbered(0, rows)]
            self.operator.process_table(0, pa.table([column, *hidden], names=names(1)))
        self.operator.end_epoch()
        return self.marks


def test_a_partition_that_is_read_after_another_one_is_not_late() -> None:
    subtask = Subtask()
    assert subtask.epoch(1, a=[10, 500, 9000], b=[5, 20]) == [20]
    assert subtask.before == [MIN_WATERMARK] * 5
    assert subtask.epoch(2, b=[100], a=[50]) == [100]
    assert subtask.before == [20, 20]


def test_a_partition_without_new_rows_holds_the_others_back_until_it_is_idle() -> None:
    assert [Subtask().epoch(1, a=[10], b=[5])] == [[5]]
    subtask = Subtask(idle_ms=100)
    subtask.epoch(0, a=[10], b=[5])
    assert subtask.operator.next_processing_timer() == 100
    assert subtask.epoch(50, a=[90]) == [5]
    assert subtask.epoch(100) == [90]
    assert subtask.epoch(150) == ["idle"]
    assert subtask.operator.next_processing_timer() is None
    assert subtask.epoch(160, b=[7]) == [90]


@pytest.mark.parametrize("by_split", [True, False])
def test_one_of_several_that_has_seen_nothing_holds_nobody_back_and_a_lone_one_does(by_split: bool) -> None:
    for parallelism, said in [(1, []), (2, ["idle"])]:
        subtask = Subtask(parallelism=parallelism)
        if not by_split:
            plain = WatermarkTableOperator(1, 200, 0, 0)
            plain.context, plain.output = subtask.operator.context, subtask.operator.output
            subtask.operator = plain  # type: ignore[assignment]
        assert subtask.epoch(1) == said
        assert subtask.epoch(2, a=[10]) == [10]
    assert Subtask(idle_ms=100).epoch(1) == ["idle"]


def test_the_end_of_the_input_is_the_end_of_time() -> None:
    subtask = Subtask()
    subtask.operator.on_watermark(MAX_WATERMARK)
    assert subtask.epoch(1, a=[10]) == [10, MAX_WATERMARK]


def test_a_restored_subtask_goes_on_and_one_of_another_parallelism_starts_with_the_watermark_only() -> None:
    first = Subtask()
    first.epoch(1, a=[100], b=[50])
    state = first.operator.snapshot()
    same, other = Subtask(), Subtask(parallelism=2)
    same.operator.restore([state])
    other.operator.restore([state])
    assert same.epoch(2, a=[200]) == [50]
    assert other.epoch(2, a=[200]) == [200]
    assert other.before == [50]
