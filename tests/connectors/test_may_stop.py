"""A batch that may not be the last one of an epoch: reading goes on to the next that may, whatever the limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    ReadLimit,
    SourceBatch,
    SourceReader,
    SourceSplit,
)
from penstock.metrics import MetricGroup
from penstock.operators.base import EpochClock, OperatorContext, Output
from penstock.operators.source import SourceOperator
from penstock.runtime.tables.source import TableSourceOperator
from penstock.state.operator import MemoryOperatorStateBackend

ROW_TYPE: RowType = parse_type("ROW<n BIGINT>")
SPLIT = SourceSplit("numbers")
GROUPS = ((0, 1, 2), (3,), (4, 5))
"""Numbers that must be read together, each a batch of its own."""


def _found(position: int | None) -> Iterator[tuple[int, bool]]:
    """The numbers from a position on, and whether reading may stop behind each."""
    for group in GROUPS:
        yield from ((n, n == group[-1]) for n in group if n >= (position or 0))


class Numbers(SourceReader):
    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        for n, may_stop in _found(position):
            yield SourceBatch([(n,)], None, n + 1, may_stop)


class NumberColumns(ArrowReader):
    row_type = ROW_TYPE

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        for n, may_stop in _found(position):
            yield ArrowBatch(pa.RecordBatch.from_pydict({"n": pa.array([n])}), n + 1, may_stop)


class Kept(Output):
    """Takes rows, however they come."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.numbers += [n for (n,) in values]

    def emit_table(self, table: pa.Table) -> None:
        self.numbers += table.column(0).to_pylist()

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        raise AssertionError

    def emit_watermark(self, watermark: int) -> None: ...

    def emit_idle(self, idle: bool) -> None: ...


def elements(reader: SourceReader) -> SourceOperator:
    return SourceOperator(reader, None, True)


def columns(reader: SourceReader) -> SourceOperator:
    return TableSourceOperator(reader, ROW_TYPE, False, True)


@pytest.mark.parametrize("reader", [Numbers, NumberColumns])
@pytest.mark.parametrize("make", [elements, columns])
def test_an_epoch_ends_only_where_reading_can_go_on(make: Any, reader: type[SourceReader]) -> None:
    output, operator = Kept(), make(reader())
    state = MemoryOperatorStateBackend(0, 1)
    operator.setup(
        OperatorContext("source", "source", 0, 1, 128, EpochClock(), MetricGroup(), state),  # type: ignore[arg-type]
        output,
    )
    read, position, finished = [], None, False
    while not finished:
        operator.begin_epoch()
        output.numbers = []
        for position, count, finished in operator.read(SPLIT, position, ReadLimit(max_records=1)):
            pass
        assert count == len(output.numbers)
        read.append(tuple(output.numbers))
    assert [group for group in read if group] == list(GROUPS)
