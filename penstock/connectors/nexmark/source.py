"""The events of Nexmark as a source: for tables, and for DataStream programs as tuples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.connectors.datagen.ranges import RangeEnumerator
from penstock.connectors.nexmark.clock import Integers
from penstock.connectors.nexmark.configuration import MAX_EVENTS, NexmarkConfiguration
from penstock.connectors.nexmark.events import Events, struct_column
from penstock.connectors.number_sequence import NumberSequenceSplit
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceSplit,
)
from penstock.formats.arrow_rows import arrow_type

__all__ = ["EVENT_TYPE", "NexmarkSource"]

BATCH_EVENTS = 32_768

EVENT_TYPE: RowType = parse_type(  # type: ignore[assignment]
    """ROW<event_type INT,
    person ROW<id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
        `dateTime` TIMESTAMP(3), extra STRING>,
    auction ROW<id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
        `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING>,
    bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3),
        extra STRING>> NOT NULL"""
)
"""An event: its kind (0 person, 1 auction, 2 bid), and one of the three."""


@dataclass(frozen=True)
class NexmarkSplit(NumberSequenceSplit):
    """Every `lanes`-th round of events; positions count the events of the split.

    Splits take turns round by round, so all of them are at about the same event time, and the events are the same
    whatever their number. The configuration is in it: a restored job goes on with the same events.

        rounds   0    1    2    3    4          3 lanes: lane 1 has the rounds 1, 4, 7, ...
        lane     0    1    2    0    1
    """

    lane: int
    lanes: int
    config: NexmarkConfiguration

    def numbers(self, start: int, end: int) -> Integers:
        """The numbers of the events at these positions."""
        rounds, offsets = np.divmod(np.arange(start, end), self.config.round_length)
        numbers: Integers = (rounds * self.lanes + self.lane) * self.config.round_length + offsets
        return numbers

    def position(self, number: int) -> int:
        """How many of the events before that one are in this split."""
        return _events_of_lane(self.config, self.lane, self.lanes, number)


def _events_of_lane(config: NexmarkConfiguration, lane: int, lanes: int, events: int) -> int:
    rounds, begun = divmod(events, config.round_length)
    complete = (rounds - lane + lanes - 1) // lanes
    return complete * config.round_length + (begun if rounds % lanes == lane else 0)


class NexmarkSource(Source):
    """The events of a configuration.

    Args:
        config: Which events, and how fast.
        row_type: The columns: those of `EVENT_TYPE`, or some of them, in any order.
        columns: Those to be made, by name, or by name and field (`bid.price`); others stay NULL. None for all.
    """

    def __init__(
        self,
        config: NexmarkConfiguration,
        row_type: RowType = EVENT_TYPE,
        columns: Collection[str] | None = None,
    ) -> None:
        self.config = config
        self.row_type = row_type
        self.columns = None if columns is None else frozenset(columns)

    @property
    def boundedness(self) -> Boundedness:
        endless = self.config.event_count is None or self.config.keep_alive
        return Boundedness.CONTINUOUS_UNBOUNDED if endless else Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> RangeEnumerator:
        lanes, config = context.parallelism, self.config
        events = MAX_EVENTS if config.event_count is None else config.event_count
        counts = [_events_of_lane(config, lane, lanes, events) for lane in range(lanes)]
        splits = [
            NexmarkSplit(f"events-{lane}", 0, count - 1, lane, lanes, config)
            for lane, count in enumerate(counts)
            if count
        ]
        return _NexmarkEnumerator(splits, config.first_event_rate if config.paced else None, restored)

    def create_reader(self) -> ArrowReader:
        return _NexmarkReader(self.row_type, self.columns)


class _NexmarkEnumerator(RangeEnumerator):
    """Paced by event time, if at all; a split that is kept alive has no end.

    Each split goes by the time of its own next event when the job starts, so one may be a round ahead of another.
    """

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        assert isinstance(split, NexmarkSplit)
        if not split.config.keep_alive:
            return super().plan_read(split, position, now_ms)
        if position is not None and position > split.end:
            return None
        limit = super().plan_read(split, position, now_ms)
        return limit and ReadLimit(end_position=limit.end_position, split_ends=False)

    def due_position(self, split: NumberSequenceSplit, start: int, elapsed_ms: int) -> int:
        assert isinstance(split, NexmarkSplit)
        clock = split.config.clock
        began_ms = int(clock.times_ms(split.numbers(start, start + 1))[0])
        return split.position(clock.events_before(began_ms + elapsed_ms + 1))


class _NexmarkReader(ArrowReader):
    def __init__(self, row_type: RowType, columns: Collection[str] | None) -> None:
        self.row_type = row_type
        self._names = [field.name for field in row_type.fields]
        self._structs = {
            field.name: [(f.name, _wanted(columns, field.name, f.name)) for f in field.data_type.fields]
            for field in row_type.fields
            if isinstance(field.data_type, RowType)
        }
        self._types = {f.name: arrow_type(f.data_type) for f in row_type.fields}
        self._columns = columns

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert isinstance(split, NexmarkSplit)
        start = split.start if position is None else position
        end = split.end + 1 if limit.end_position is None else limit.end_position
        if limit.max_records is not None:
            end = min(end, start + limit.max_records)
        while start < end:
            after = min(start + BATCH_EVENTS, end)
            yield ArrowBatch(self._batch(Events(split.numbers(start, after), split.config)), after)
            start = after

    def _batch(self, events: Events) -> pa.RecordBatch:
        return pa.record_batch([self._column(events, name) for name in self._names], names=self._names)

    def _column(self, events: Events, name: str) -> pa.Array:
        if name not in self._structs:
            return pa.array(events.kinds, pa.int32())
        fields = self._structs[name]
        if not any(made for _, made in fields):
            return pa.nulls(len(events.numbers), self._types[name])
        return struct_column(events, name, fields)


def _wanted(columns: Collection[str] | None, column: str, field: str) -> bool:
    return columns is None or column in columns or f"{column}.{field}" in columns
