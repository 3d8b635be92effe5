"""Constant rows as a source that is read once.

Constants become a table when the query is planned. Where an expression needs more than that, the source gives the
numbers of the rows, and a projection over them picks each row's expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import DataTypes
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)
from penstock.formats.arrow_rows import arrow_type, columns_type
from penstock.sql.arrow import compile_columns
from penstock.sql.plan.algebra import DataFrameScan, Field, Fields, Plan, Project, Values
from penstock.sql.plan.rex import Call, Const, InputRef, Rex
from penstock.sql.streaming.physical import HIDDEN, hidden_refs

EMPTY = Field("$empty", DataTypes.INT(False))
"""The column of rows without columns."""


def values_source(values: Values, zone: str) -> tuple[Source, Fields, list[Plan]]:
    """A source, its columns, and the steps that make the rows of it."""
    if not values.fields:  # SELECT without FROM: a row with nothing in it
        empty: Fields = (EMPTY, *HIDDEN)
        return ValuesSource(pa.table({"c0": pa.array([0] * len(values.rows), pa.int32())})), empty, []
    fields: Fields = (*values.fields, *HIDDEN)
    compiled = [compile_columns(list(row), zone) for row in values.rows]
    cells = [row for row in compiled if row is not None]
    if len(cells) == len(compiled):
        columns = [
            pa.concat_arrays([_array(row[i]([], 1)).cast(arrow_type(f.type)) for row in cells])
            if cells
            else pa.array([], arrow_type(f.type))
            for i, f in enumerate(values.fields)
        ]
        return ValuesSource(pa.table(columns, names=[f"c{i}" for i in range(len(columns))])), fields, []
    number = Field("$row", DataTypes.INT(False))
    numbers: Fields = (number, *HIDDEN)
    picked = [_picked(values, i, f) for i, f in enumerate(values.fields)]
    leaf = DataFrameScan(numbers, "")
    source = ValuesSource(pa.table({"c0": pa.array(range(len(values.rows)), pa.int32())}))
    return source, numbers, [Project(fields, leaf, (*picked, *hidden_refs(1)))]


def _array(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _picked(values: Values, index: int, field: Field) -> Rex:
    if len(values.rows) == 1:
        return values.rows[0][index]
    at = InputRef(DataTypes.INT(False), 0)
    parts: list[Rex] = []
    for number, row in enumerate(values.rows):
        same = Call(DataTypes.BOOLEAN(False), "=", (at, Const(DataTypes.INT(False), number)))
        parts += [same, row[index]]
    return Call(field.type.nullable(), "CASE", (*parts, Const(field.type.nullable(), None)))


@dataclass(frozen=True)
class ValuesSource(Source):
    """A table that is read once, whole."""

    table: Any

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _Once(restored is not None)

    def create_reader(self) -> SourceReader:
        return _ValuesReader(self.table)


class _Once(SplitEnumerator):
    """One split, reported once."""

    def __init__(self, reported: bool) -> None:
        self._reported = reported

    def discover(self) -> Sequence[SourceSplit]:
        if self._reported:
            return ()
        self._reported = True
        return [SourceSplit("values")]

    def snapshot(self) -> Any:
        return self._reported


class _ValuesReader(ArrowReader):
    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.row_type = columns_type([])

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        if position is None and self._table.num_rows:
            batch = self._table.combine_chunks().to_batches()[0]
            yield ArrowBatch(batch, 1)
