"""A table's source emits in portions, and stops in the middle of a batch when the time of the epoch is over."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.connectors.source import ArrowBatch, ArrowReader, ReadLimit, SourceSplit
from penstock.metrics import MetricGroup
from penstock.operators.base import EpochClock, OperatorContext, Output
from penstock.operators.time_box import TimeBox
from penstock.runtime.tables.source import TableSourceOperator
from penstock.state.operator import MemoryOperatorStateBackend

ROW_TYPE: RowType = parse_type("ROW<n BIGINT>")
SPLIT = SourceSplit("numbers")
ROWS = 30


class Numbers(ArrowReader):
    """One batch that a reader cannot go on in the middle of."""

    row_type = ROW_TYPE

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        if position is None:
            yield ArrowBatch(pa.record_batch([pa.array(range(ROWS))], names=["n"]), ROWS, True)


class Slow(Output):
    """Takes a second for each row."""

    def __init__(self) -> None:
        self.now = 0.0
        self.rows: list[int] = []
        self.places: list[int] = []

    def emit_table(self, table: pa.Table) -> None:
        self.rows += table.column(0).to_pylist()
        self.places += table.column("__pos").to_pylist()
        self.now += table.num_rows

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        raise AssertionError

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        raise AssertionError

    def emit_watermark(self, watermark: int) -> None: ...

    def emit_idle(self, idle: bool) -> None: ...


def source(output: Slow) -> TableSourceOperator:
    operator = TableSourceOperator(Numbers(), ROW_TYPE, False, True)
    operator._box = TimeBox(lambda: output.now)
    state = MemoryOperatorStateBackend(0, 1)
    operator.setup(
        OperatorContext("source", "source", 0, 1, 128, EpochClock(), MetricGroup(), state),  # type: ignore[arg-type]
        output,
    )
    return operator


def epoch(operator: TableSourceOperator, position: Any, limit_ms: float | None) -> tuple[Any, bool]:
    """One epoch, as a stage has it: what waits, then the split; where reading goes on, and whether it has ended."""
    finished = False
    operator.begin_epoch()
    operator.assign({SPLIT.split_id})
    operator.begin_reading(limit_ms)
    for _ in operator.emit_waiting():
        pass
    for position, _, finished in operator.read(SPLIT, position, ReadLimit()):
        pass
    return position, finished


def test_a_slow_query_stops_in_the_middle_of_a_batch_and_goes_on_in_the_next_epoch() -> None:
    output = Slow()
    operator = source(output)
    position, ends, waiting = None, [], []
    for _ in range(4):
        position, finished = epoch(operator, position, 10_000)
        ends.append(finished)
        waiting.append(operator.waiting)
    assert output.rows == list(range(ROWS))
    assert (waiting, ends) == ([20, 10, 0, 0], [False, False, True, True])


def test_rows_that_wait_are_part_of_the_state() -> None:
    output = Slow()
    position, _ = epoch(operator := source(output), None, 10_000)
    kept = pickle.loads(pickle.dumps(operator.snapshot()))
    other = source(output)
    other.restore([kept])
    assert other.waiting == 20
    position, finished = epoch(other, position, None)
    assert (output.rows, finished) == (list(range(ROWS)), True)
    assert output.places == [*range(10), *range(20)]  # numbered anew in each epoch


def test_without_a_limit_a_batch_stays_whole() -> None:
    output = Slow()
    assert epoch(source(output), None, None) == (ROWS, True)
    assert output.now == ROWS
