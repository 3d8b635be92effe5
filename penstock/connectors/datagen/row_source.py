"""The source of a datagen table: rows by their numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from penstock.connectors.datagen.ranges import UNBOUNDED_COUNT, RangeEnumerator
from penstock.connectors.datagen.rows import DataGenerator
from penstock.connectors.number_sequence import NumberSequenceSplit, split_range
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceSplit,
)
from penstock.formats.arrow_rows import RowsToArrow

__all__ = ["RowGeneratorSource"]

BATCH_ROWS = 8192
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@dataclass(frozen=True)
class RowsSplit(NumberSequenceSplit):
    """Rows by number. The generator is in it, with its seed: a restored job goes on with the same dice."""

    generator: DataGenerator


class RowGeneratorSource(Source):
    """Rows of a generator.

    Args:
        count: How many; None for as many as its sequences have, or no end.
        rows_per_second: How fast an endless table grows; one with an end comes at once.
    """

    def __init__(self, generator: DataGenerator, count: int | None, rows_per_second: int) -> None:
        bounds = [n for n in (count, generator.sequence_length()) if n is not None]
        self.generator = generator
        self.count = min(bounds) if bounds else None
        self.rate = rows_per_second if self.count is None else None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.count is None else Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> RangeEnumerator:
        count = UNBOUNDED_COUNT if self.count is None else self.count
        # Sequences count through all rows, so their order is worth keeping.
        parts = context.parallelism if self.generator.sequence_length() is None else 1
        ranges = split_range(0, count - 1, parts) if count else []
        splits = [RowsSplit(f"rows-{r.split_id}", r.start, r.end, self.generator) for r in ranges]
        return _RowsEnumerator(splits, self.rate, restored, at_once=0)

    def create_reader(self) -> ArrowReader:
        return _RowReader(self.generator)


class _RowsEnumerator(RangeEnumerator):
    """Tells the reader what time it is. All rows of an epoch have one: a repeated task has to make the same rows."""

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        limit = super().plan_read(split, position, now_ms)
        return limit and replace(limit, payload=now_ms)


class _RowReader(ArrowReader):
    def __init__(self, generator: DataGenerator) -> None:
        self.row_type = generator.row_type

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert isinstance(split, RowsSplit)
        start = split.start if position is None else position
        end = split.end + 1 if limit.end_position is None else limit.end_position
        if limit.max_records is not None:
            end = min(end, start + limit.max_records)
        generator = split.generator
        if limit.payload is not None:
            generator = replace(generator, now=_EPOCH + dt.timedelta(milliseconds=limit.payload))
        rows = generator.rows(start, end)
        to_arrow = RowsToArrow(split.generator.row_type)
        while chunk := list(islice(rows, BATCH_ROWS)):
            start += len(chunk)
            yield ArrowBatch(to_arrow.batch(chunk), start)
