"""Watermarks of tables whose splits go on side by side, such as partitions of a topic.

Each split has the highest time seen in it; the subtask's watermark is the lowest of them, so that a partition that is
read late, or lags, is never overtaken by its neighbours. As Flink's periodic generators it moves at certain moments,
here at the end of an epoch, and rows are judged by where it stood at the epoch's beginning.

A split counts from its first row on: every epoch reads all splits that have something, so one that has nothing yet
holds nobody back. One that has nothing any more does, unless it has been quiet for the idle timeout.

The source tells rows of different splits apart by a tag in the hidden column of the watermark, which nobody else
reads before this operator has filled it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.tables.watermark import WatermarkTableOperator


def split_tag(split_id: str) -> int:
    """A number for a split, the same in every process and after a restore."""
    return xxh3_64_intdigest(split_id.encode()) >> 2


class SplitWatermarkTableOperator(WatermarkTableOperator):
    """Follows the row time in each split.

    Args:
        idle_ms: After so much processing time without a row a split holds nobody back; None: it always does.
    """

    def __init__(
        self, width: int, interval_ms: int, time_column: int, delay_ms: int | None, idle_ms: int | None
    ) -> None:
        super().__init__(width, interval_ms, time_column, delay_ms)
        self._idle_ms = idle_ms
        self._highest: dict[int, int] = {}
        self._active_ms: dict[int, int] = {}
        self._emitted = MIN_WATERMARK

    def process_table(self, input_index: int, table: pa.Table) -> None:
        if self.context.batch_mode or not table.num_rows:
            super().process_table(input_index, table)
            return
        expressions = self._expressions(table)
        tags = table.column(table.num_columns - 2).to_numpy()
        now_ms = self.context.clock.processing_time_ms
        for tag in np.unique(tags).tolist():
            highest = int(expressions[tags == tag].max())
            self._highest[tag] = max(highest, self._highest.get(tag, MIN_WATERMARK))
            self._active_ms[tag] = now_ms
        before = np.full(table.num_rows, self._emitted, np.int64)
        self.output.emit_table(self._columns(table, pa.array(before)))

    def _active(self) -> list[int]:
        """The times of the splits that are not idle."""
        since = MIN_WATERMARK if self._idle_ms is None else self._quiet_since()
        return [highest for tag, highest in self._highest.items() if self._active_ms[tag] > since]

    def _quiet_since(self) -> int:
        return self.context.clock.processing_time_ms - (self._idle_ms or 0)

    def end_epoch(self) -> None:
        active = self._active()
        waits = not self._highest and self._idle_ms is None and self.context.parallelism == 1
        self.output.emit_idle(not active and not waits)
        if active:
            self._emitted = max(self._emitted, min(active))
            self.output.emit_watermark(self._emitted)
        if self._highest and self.current_watermark == MAX_WATERMARK:
            self.output.emit_watermark(MAX_WATERMARK)

    def next_processing_timer(self) -> int | None:
        """An epoch is due when the first split becomes idle."""
        if self._idle_ms is None:
            return None
        since = self._quiet_since()
        waiting = [at for at in self._active_ms.values() if at > since]
        return min(waiting) + self._idle_ms if waiting else None

    def snapshot(self) -> Any:
        splits = (self.context.parallelism, self._highest, self._active_ms)
        return {**super().snapshot(), "splits": splits, "emitted": self._emitted}

    def restore(self, states: Sequence[Any]) -> None:
        """With another parallelism splits may have gone elsewhere: those that are here show themselves."""
        super().restore(states)
        self._emitted = min((s["emitted"] for s in states), default=MIN_WATERMARK)
        same = len(states) == 1 and states[0]["splits"][0] == self.context.parallelism
        self._highest, self._active_ms = states[0]["splits"][1:] if same else ({}, {})
