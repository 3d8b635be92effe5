"""A source whose record number i is `generator(i)`: exactly reproducible, because the position is i.

The indexes 0 to count-1 are cut into ranges like a number sequence. A rate limit is kept by the enumerator:
when an epoch is planned, each split may read as far as the time since the start allows. A job that goes on
from a checkpoint starts counting anew: it does not hurry to catch up with the time it was not running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.number_sequence import NumberSequenceSplit, split_range
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]

BATCH_RECORDS = 2_000
UNBOUNDED_COUNT = 2**63 - 1


class GeneratorFunction:
    """Makes records; subclass it when a plain function of the index is not enough."""

    def open(self, context: ReaderContext) -> None:
        """Called once per task process, before the first record."""

    def map(self, value: int) -> Any:
        """The record of an index. Must depend on nothing but the index, or replays differ."""
        raise NotImplementedError

    def close(self) -> None:
        """The process or the job ends."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How many records the source makes, over all its subtasks."""

    records_per_second: float | None = None

    def __post_init__(self) -> None:
        if self.records_per_second is not None and self.records_per_second <= 0:
            raise ValidationError(f"records_per_second must be positive, got {self.records_per_second}")

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as they are wanted."""
        return RateLimiterStrategy()

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        raise NotSupportedError(
            "RateLimiterStrategy.per_checkpoint",
            "every epoch is a checkpoint here, and its length is the coordinator's choice",
            do="use RateLimiterStrategy.per_second(...)",
        )


class DataGeneratorSource(Source):
    """Produces `generator(0)`, `generator(1)`, ...

    Args:
        generator: A function of the index, or a `GeneratorFunction`.
        count: How many records; None for an unbounded source.
        rate_limiter_strategy: How fast.
        type_info: Type of the records.
    """

    def __init__(
        self,
        generator: Callable[[int], Any] | GeneratorFunction,
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> None:
        if count is not None and count < 0:
            raise ValidationError(f"count must not be negative, got {count}")
        self.generator = generator
        self.count = count
        self.rate = (rate_limiter_strategy or RateLimiterStrategy.no_op()).records_per_second
        self.type_info = type_info

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.count is None else Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _DataGeneratorEnumerator(self, context.parallelism, restored)

    def create_reader(self) -> SourceReader:
        return _DataGeneratorReader(self.generator)

    def produced_type(self) -> TypeInformation | None:
        return self.type_info


class _DataGeneratorEnumerator(SplitEnumerator):
    """`restored` is the number of splits, which share the rate."""

    def __init__(self, source: DataGeneratorSource, parallelism: int, restored: int | None) -> None:
        self._source = source
        self._pending: list[NumberSequenceSplit] = []
        if restored is None:
            last = UNBOUNDED_COUNT if source.count is None else source.count - 1
            self._pending = split_range(0, last, parallelism) if last >= 0 else []
        self._split_count = len(self._pending) if restored is None else restored
        self._started_ms: int | None = None
        self._start_positions: dict[str, int] = {}

    def discover(self) -> Sequence[SourceSplit]:
        splits, self._pending = self._pending, []
        return splits

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, NumberSequenceSplit)
        start = split.start if position is None else position
        rate = self._source.rate
        if rate is None or start > split.end:
            return ReadLimit(end_position=split.end + 1, split_ends=True)
        end = min(self._allowed(split, start, now_ms, rate), split.end + 1)
        if end <= start:
            return None
        return ReadLimit(end_position=end, split_ends=end > split.end)

    def _allowed(self, split: NumberSequenceSplit, start: int, now_ms: int, rate: float) -> int:
        if self._started_ms is None:
            self._started_ms = now_ms
        begin = self._start_positions.setdefault(split.split_id, start)
        # One record is due at once, so that slow rates begin with a record, as in Flink.
        return begin + 1 + int((now_ms - self._started_ms) * rate / self._split_count / 1000)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        if self._source.rate is None:
            return None
        return now_ms + max(1, min(1_000, int(1_000 * self._split_count / self._source.rate)))

    def snapshot(self) -> Any:
        return self._split_count


class _DataGeneratorReader(SourceReader):
    def __init__(self, generator: Callable[[int], Any] | GeneratorFunction) -> None:
        self._generator = generator

    def open(self, context: ReaderContext) -> None:
        if isinstance(self._generator, GeneratorFunction):
            self._generator.open(context)

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, NumberSequenceSplit)
        generator = self._generator
        make = generator.map if isinstance(generator, GeneratorFunction) else generator
        index = split.start if position is None else position
        step = min(BATCH_RECORDS, limit.max_records or BATCH_RECORDS)
        while index < limit.end_position:
            after = min(index + step, limit.end_position)
            yield SourceBatch([make(i) for i in range(index, after)], None, after)
            index = after

    def close(self) -> None:
        if isinstance(self._generator, GeneratorFunction):
            self._generator.close()
