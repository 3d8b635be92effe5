"""All numbers of a closed range, in parallel: `NumberSequenceSource`.

The range is cut into as many parts as there are readers, at most one per number; each part is a split. The
position is the next number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["NumberSequenceSource", "NumberSequenceSplit"]

BATCH_RECORDS = 4_000


@dataclass(frozen=True)
class NumberSequenceSplit(SourceSplit):
    """The numbers `start` to `end`, both included."""

    start: int
    end: int


class NumberSequenceSource(Source):
    """Produces the numbers `start` to `end`, both included."""

    def __init__(self, start: int, end: int) -> None:
        if end < start:
            raise ValidationError(
                f"a number sequence from {start} to {end} has no numbers", do="'start' must not exceed 'end'"
            )
        self.start = start
        self.end = end

    @property
    def boundedness(self) -> Boundedness:
        """Bounded: it ends with its last number."""
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        pending = split_range(self.start, self.end, context.parallelism) if restored is None else []
        return _NumberSequenceEnumerator(pending)

    def create_reader(self) -> SourceReader:
        return _NumberSequenceReader()

    def produced_type(self) -> Any:
        return Types.LONG()


def split_range(start: int, end: int, parts: int) -> list[NumberSequenceSplit]:
    """Cuts a closed range into at most `parts` ranges of nearly equal length, none of them empty."""
    count = end - start + 1
    parts = max(1, min(parts, count))
    edges = [start + count * part // parts for part in range(parts + 1)]
    return [NumberSequenceSplit(str(index), edges[index], edges[index + 1] - 1) for index in range(parts)]


class _NumberSequenceEnumerator(SplitEnumerator):
    def __init__(self, pending: list[NumberSequenceSplit]) -> None:
        self._pending = pending

    def discover(self) -> Sequence[SourceSplit]:
        splits, self._pending = self._pending, []
        return splits

    def snapshot(self) -> Any:
        return "discovered" if not self._pending else None


class _NumberSequenceReader(SourceReader):
    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, NumberSequenceSplit)
        number = split.start if position is None else position
        step = min(BATCH_RECORDS, limit.max_records or BATCH_RECORDS)
        while number <= split.end:
            after = min(number + step, split.end + 1)
            yield SourceBatch(list(range(number, after)), None, after)
            number = after
