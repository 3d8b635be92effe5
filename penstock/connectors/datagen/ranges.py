"""Numbers that are handed out in ranges, all at once or at a rate: the enumerator of everything that is generated.

The numbers 0 to count-1 are cut into a range per subtask. A rate limit is kept here, in the driver: when an epoch is
planned, each split may read as far as the time since the start allows. A job that goes on from a checkpoint starts
counting anew: it does not hurry to catch up with the time it was not running.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.connectors.number_sequence import NumberSequenceSplit
from penstock.connectors.source import ReadLimit, SourceSplit, SplitEnumerator

__all__ = ["UNBOUNDED_COUNT", "RangeEnumerator"]

UNBOUNDED_COUNT = 2**63 - 1


class RangeEnumerator(SplitEnumerator):
    """Positions are the numbers of the next records.

    Args:
        splits: The ranges, which share the rate; those of a restored job are known to the coordinator.
        rate: Records per second over all splits; None for as fast as they are wanted.
        restored: How many splits there are, if they were handed out before.
        at_once: How many records of a split are due as soon as the job starts.
    """

    def __init__(
        self,
        splits: Sequence[NumberSequenceSplit],
        rate: float | None,
        restored: int | None = None,
        at_once: int = 1,
    ) -> None:
        self._pending = list(splits) if restored is None else []
        self._split_count = len(self._pending) if restored is None else restored
        self._rate = rate
        self._at_once = at_once
        self._started_ms: int | None = None
        self._start_positions: dict[str, int] = {}

    def discover(self) -> Sequence[SourceSplit]:
        splits, self._pending = self._pending, []
        return splits

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, NumberSequenceSplit)
        start = split.start if position is None else position
        if self._rate is None or start > split.end:
            return ReadLimit(end_position=split.end + 1, split_ends=True)
        end = min(self._due(split, start, now_ms), split.end + 1)
        if end <= start:
            return None
        return ReadLimit(end_position=end, split_ends=end > split.end)

    def _due(self, split: NumberSequenceSplit, position: int, now_ms: int) -> int:
        if self._started_ms is None:
            self._started_ms = now_ms
        begin = self._start_positions.setdefault(split.split_id, position)
        return self.due_position(split, begin, now_ms - self._started_ms)

    def due_position(self, split: NumberSequenceSplit, start: int, elapsed_ms: int) -> int:
        """How far a split may be read that was at `start` so many milliseconds ago. For sources with a rate."""
        assert self._rate is not None
        return start + self._at_once + int(elapsed_ms * self._rate / self._split_count / 1000)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        if self._rate is None:
            return None
        return now_ms + max(1, min(1_000, int(1_000 * self._split_count / self._rate)))

    def snapshot(self) -> Any:
        return self._split_count
