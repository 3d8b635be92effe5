"""A source whose record number i is `generator(i)`: exactly reproducible, because the position is i.

The indexes 0 to count-1 are cut into ranges like a number sequence, as in Flink, and `ranges.py` keeps a rate limit.
Those of a source without an end are dealt out in turn: cut into ranges, all but the first would begin with numbers of
which a program can make neither times nor keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.datagen.ranges import UNBOUNDED_COUNT, RangeEnumerator
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
)

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]

BATCH_RECORDS = 2_000


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
        """So many records per second, over all subtasks together."""
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as they are wanted."""
        return RateLimiterStrategy()

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """Refused: how long an epoch is, and so a checkpoint, is decided while the job runs."""
        raise NotSupportedError(
            "RateLimiterStrategy.per_checkpoint",
            "every epoch is a checkpoint here, and its length is the coordinator's choice",
            do="use RateLimiterStrategy.per_second(...)",
        )


@dataclass(frozen=True)
class DealtSplit(NumberSequenceSplit):
    """Every `lanes`-th index from `lane` on; positions count the split's own records."""

    lane: int
    lanes: int


class DataGeneratorSource(Source):
    """Produces `generator(0)`, `generator(1)`, ...

    Args:
        generator: A function of the index, or a `GeneratorFunction`.
        count: How many records; None for an unbounded source, whose indexes grow evenly in all subtasks.
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

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> RangeEnumerator:
        return RangeEnumerator(
            self._splits(context.parallelism), self.rate, restored
        )  # one is due at once, as in Flink

    def _splits(self, lanes: int) -> Sequence[NumberSequenceSplit]:
        if self.count is None:
            last = UNBOUNDED_COUNT // lanes - 1
            return [DealtSplit(str(lane), 0, last, lane, lanes) for lane in range(lanes)]
        return split_range(0, self.count - 1, lanes) if self.count else []

    def create_reader(self) -> SourceReader:
        return _DataGeneratorReader(self.generator)

    def produced_type(self) -> TypeInformation | None:
        return self.type_info


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
        at = split.start if position is None else position
        lane, lanes = (split.lane, split.lanes) if isinstance(split, DealtSplit) else (0, 1)
        step = min(BATCH_RECORDS, limit.max_records or BATCH_RECORDS)
        while at < limit.end_position:
            after = min(at + step, limit.end_position)
            indexes = range(at * lanes + lane, after * lanes + lane, lanes)
            yield SourceBatch([make(index) for index in indexes], None, after)
            at = after

    def close(self) -> None:
        if isinstance(self._generator, GeneratorFunction):
            self._generator.close()
