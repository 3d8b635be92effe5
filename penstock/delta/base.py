"""What a delta operator is: it turns the changes of its inputs in an epoch into changes of its result.

A change is a row with a kind: +I, -U, +U or -D. For the algebra a kind is a weight, +1 or -1; the kinds only
matter at the edge, where a person or a changelog sink wants to know that a row replaced another. An epoch is
handled in this order:

    begin_epoch()
    take_columns(input_index, table, watermark)   what can be done on columns; the rest goes on as rows
    process(input_index, batch)        the epoch's changes of each input, in arrival order within a key
    advance(watermark)                 once, if the watermark moved: fire windows, timers, clean state
    end_epoch()                        emit what was held back until the changes of a key are complete

Lateness must not depend on where an epoch was cut, so each row carries the watermark that had been emitted
before it (`Batch.watermarks`); `advance` comes with the watermark that was known when the epoch was planned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.common.ids import MIN_WATERMARK
from penstock.delta.kept import Kept

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.state.backend import KeyedStateBackend

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3

WEIGHT = (1, -1, 1, -1)
"""Kind -> weight."""

UNMATCHED_RETRACTIONS = "numRetractionsWithoutRow"
"""Metric: rows that were taken back although they were not there. They are ignored, as in Flink."""

Row = tuple[Any, ...]


@dataclass
class Batch:
    """Changes of one input: `rows[i]` with `kinds[i]`; `watermarks[i]` was the watermark before row i.

    `watermarks` is None where the input has no event time.
    """

    rows: list[Row] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    watermarks: list[int] | None = None

    def append(self, row: Row, kind: int, watermark: int | None = None) -> None:
        self.rows.append(row)
        self.kinds.append(kind)
        if watermark is not None:
            if self.watermarks is None:
                self.watermarks = [MIN_WATERMARK] * (len(self.rows) - 1)
            self.watermarks.append(watermark)
        elif self.watermarks is not None:
            self.watermarks.append(MIN_WATERMARK)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class DeltaContext:
    """What an operator subtask may use.

    `watermark` is the minimum over the inputs as of the last `advance`. `metrics` counts by Flink's names,
    such as numLateRecordsDropped.
    """

    keyed_state: KeyedStateBackend
    subtask_index: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    processing_time_ms: int = 0
    watermark: int = MIN_WATERMARK
    metrics: dict[str, int] = field(default_factory=dict)
    function_context: Any = None
    """What `open` of a user's function gets."""
    input_names: tuple[tuple[str, ...], ...] = ()
    """What the query calls the columns of each input, as they are before a local stage; () if nobody knows."""

    def names_of(self, input_index: int) -> tuple[str, ...] | None:
        """The names of an input's columns, for those who read state; None if nobody knows."""
        return self.input_names[input_index] if self.input_names else None

    def count(self, name: str, n: int = 1) -> None:
        self.metrics[name] = self.metrics.get(name, 0) + n


class DeltaOperator(ABC):
    """Base of all delta operators. Built by the planner, pickled, opened in a task.

    `output` is filled during an epoch and taken by the stage at its end. A row emitted by firing at a
    watermark carries the watermark before the firing, so that it is never late for the next operator.
    """

    input_count = 1
    keeps_columns = False
    """Whether the output begins with the columns of the input, so that its rows are where their key belongs."""
    _ttl_ms: Any = None
    """Set by operators whose state only a time to live bounds: milliseconds, or a tuple of them by input."""

    context: DeltaContext
    output: Batch
    output_tables: list[pa.Table]
    """Output in columns, behind `output`."""

    def open(self, context: DeltaContext) -> None:
        """Once per process and subtask: get state objects from `context.keyed_state`."""
        self.context = context
        self.output = Batch()
        self.output_tables = []

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        """Columns of that input by which its rows must be partitioned; () sends all to one subtask.

        The key under which the operator keeps state is the tuple of these columns, in this order, also when
        there is only one; whoever computes key groups has to use the same tuple.
        """
        return ()

    @property
    def retention_ms(self) -> tuple[int, ...]:
        """How long rows of each input are remembered, 0 being for ever; () if time or a limit bounds the state."""
        ttl_ms: int | tuple[int, ...] | None = self._ttl_ms
        if isinstance(ttl_ms, tuple):
            return ttl_ms
        return () if ttl_ms is None or not self.key_columns(0) else (ttl_ms,)

    def kept(self) -> tuple[Kept, ...]:
        """What it remembers, for EXPLAIN."""
        return ()

    def begin_epoch(self) -> None:
        self.output = Batch()
        self.output_tables = []

    def take_columns(self, input_index: int, table: pa.Table, watermark: int) -> pa.Table:
        """Does what needs no look at single rows; the rest, which it returns, comes to `process`.

        Args:
            input_index: The input.
            table: All changes of it in the epoch (`delta/columns.py`).
            watermark: What `advance` will be called with in this epoch, if it is above that of the context. The
                operator may have taken timers out by then.
        """
        return table

    @abstractmethod
    def process(self, input_index: int, batch: Batch) -> None:
        """Takes changes in."""

    def advance(self, watermark: int) -> None:
        """The watermark moved to `watermark`."""

    def end_epoch(self) -> None:
        """All changes of the epoch are in."""

    def close(self) -> None:
        """The job is over."""
