"""Reading a table: a query per range of the partition column, or one for all of it.

    SELECT only, what, is, needed FROM t WHERE (condition) AND column BETWEEN lower AND upper

Conditions of the query are checked by the database too, where it can be trusted to see them as Flink does.
A range is read by one task over one connection, in portions, so that a table never sits in memory, and in one go: a
database gives its rows in any order, so there is no coming back to a row. As in Flink rows outside of all ranges, and
those whose partition column is NULL, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.catalog.conditions import NULL_TESTS, Clause
from penstock.common.datatypes import RowType
from penstock.common.errors import MalformedRecordError
from penstock.connectors.jdbc.database_table import JdbcTable, RealColumn
from penstock.connectors.jdbc.types import Read, reader_of
from penstock.connectors.source import (
    START,
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceSplit,
    SplitEnumerator,
)
from penstock.formats.arrow_rows import RowsToArrow

_SHOWN = 200

Range = tuple[int, ...]
"""The smallest and the largest value of the partition column; empty, it stands for the whole table."""

WHOLE: Range = ()

_READ = "read"
"""The position after a range."""


def ranges(lower: int, upper: int, count: int) -> list[Range]:
    """Neighbouring ranges of about the same size; fewer, if there are not so many numbers.

    >>> ranges(1, 10, 3)
    [(1, 4), (5, 7), (8, 10)]
    """
    total = upper - lower + 1
    size, longer = divmod(total, min(count, total))
    found: list[Range] = []
    start = lower
    while start <= upper:
        end = start + size - (0 if len(found) < longer else 1)
        found.append((start, end))
        start = end + 1
    return found


@dataclass(frozen=True)
class JdbcScan:
    """How a table is read; pickled into tasks.

    `row_type` are the table's physical columns, `wanted` those that somebody looks at: others are NULL.
    """

    table: JdbcTable
    row_type: RowType
    wanted: tuple[str, ...]
    fetch_size: int = 0
    partition_column: str | None = None
    parts: tuple[Range, ...] = (WHOLE,)
    filters: tuple[Clause, ...] = ()

    def batches(self, part: Range, to_arrow: RowsToArrow) -> Iterator[pa.RecordBatch]:
        """A range's rows in the columns of `to_arrow`, which are the table's."""
        columns = ColumnReaders(self.table, self.row_type, self.wanted)
        with (
            self.table.explained("cannot read the table"),
            self.table.connected() as connection,
        ):
            sql, values = self._query(connection, part)
            for rows in self.table.dialect.fetched(connection, sql, values, self.fetch_size):
                yield to_arrow.of_columns(columns.arrays(rows, to_arrow))

    def _query(self, connection: Any, part: Range) -> tuple[str, list[Any]]:
        names = [*self.wanted, *(c.column for clause in self.filters for c in clause)]
        if part:
            names.append(self.partition_column or "")
        real = dict(zip(names, self.table.columns(connection, names), strict=True))
        conditions, values = self._conditions(real)
        dialect = self.table.dialect
        if part:
            column = dialect.quote(real[names[-1]].name)
            conditions.append(f"{column} BETWEEN {dialect.placeholder} AND {dialect.placeholder}")
            values += part
        shown = [real[name].name for name in self.wanted]
        return dialect.select(self.table.name, shown, " AND ".join(conditions)), values

    def _conditions(self, real: Mapping[str, RealColumn]) -> tuple[list[str], list[Any]]:
        """The filters that the database can check, and the values in them."""
        dialect = self.table.dialect
        texts: list[str] = []
        values: list[Any] = []
        for clause in self.filters:
            compared = [c for c in clause if c.operator not in NULL_TESTS]
            if not all(dialect.can_compare(real[c.column].type_code, c.value) for c in compared):
                continue
            parts = []
            for condition in clause:
                text = f"{dialect.quote(real[condition.column].name)} {condition.operator}"
                parts.append(f"{text} {dialect.placeholder}" if condition in compared else text)
            texts.append(f"({' OR '.join(parts)})")
            values += [condition.value for condition in compared]
        return texts, values


@dataclass(frozen=True)
class RangeSplit(SourceSplit):
    """A range of the partition column."""

    part: Range = WHOLE


class JdbcSource(Source):
    """Reads a table once, as it is then: a split for each range, the same ones whatever the parallelism.

    A range is read in one go: a database gives its rows in any order, so there is no coming back to a row.
    """

    def __init__(self, scan: JdbcScan) -> None:
        self.scan = scan

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _Ranges(self.scan.parts if restored is None else ())

    def create_reader(self) -> ArrowReader:
        return _JdbcReader(self.scan)


class _Ranges(SplitEnumerator):
    def __init__(self, parts: Sequence[Range]) -> None:
        self._splits = [RangeSplit(f"range-{i}", part) for i, part in enumerate(parts)]

    def discover(self) -> Sequence[SourceSplit]:
        found, self._splits = self._splits, []
        return found

    def snapshot(self) -> Any:
        return "discovered" if not self._splits else None


class _JdbcReader(ArrowReader):
    def __init__(self, scan: JdbcScan) -> None:
        self.row_type = RowType(scan.row_type.nullable_fields(), nullable=False)
        self._scan = scan

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert isinstance(split, RangeSplit)
        if position == _READ:
            return
        before: pa.RecordBatch | None = None
        for batch in self._scan.batches(split.part, RowsToArrow(self.row_type)):
            if before is not None:
                yield ArrowBatch(before, START, may_stop=False)
            before = batch
        if before is not None:
            yield ArrowBatch(before, _READ)


class ColumnReaders:
    """Driver's rows as columns of the declared types."""

    def __init__(self, table: JdbcTable, row_type: RowType, wanted: Sequence[str]) -> None:
        self._table = table
        self._fields = row_type.fields
        places = {name: i for i, name in enumerate(wanted)}
        self._places = [places.get(f.name) for f in row_type.fields]
        self._reads = [reader_of(f.data_type) for f in row_type.fields]

    def arrays(self, rows: Sequence[tuple[Any, ...]], to_arrow: RowsToArrow) -> list[pa.Array]:
        given = list(zip(*rows, strict=True))
        arrays = []
        for at, place in enumerate(self._places):
            if place is None:
                arrays.append(to_arrow.constant(at, None, len(rows)))
            else:
                arrays.append(to_arrow.column(at, self._column(at, given[place])))
        return arrays

    def rows(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The same as rows; all columns must be wanted."""
        given = list(zip(*rows, strict=True))
        return list(zip(*(self._column(at, values) for at, values in enumerate(given)), strict=True))

    def _column(self, at: int, values: Sequence[Any]) -> list[Any]:
        read = self._reads[at]
        try:
            return [None if value is None else read(value) for value in values]
        except (ValueError, TypeError, ArithmeticError, OverflowError):
            raise self._unreadable(at, read, values) from None

    def _unreadable(self, at: int, read: Read, values: Sequence[Any]) -> MalformedRecordError:
        """The error of the first value that cannot be read."""
        column = self._fields[at]
        shown, reason = "", "it cannot be read"
        for value in values:
            try:
                if value is not None:
                    read(value)
            except (ValueError, TypeError, ArithmeticError, OverflowError) as error:
                shown, reason = repr(value), " ".join(str(error).split())
                break
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
        return MalformedRecordError(
            f"value {shown} of column '{column.name}' does not fit {column.data_type.as_summary()}: {reason}",
            where=self._table.where,
            do="declare the column with a type that holds all its values",
        )
