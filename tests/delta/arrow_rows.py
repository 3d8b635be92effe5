"""Rows as the Arrow tables that local stages and columnar operators take, and back."""

from __future__ import annotations

import pyarrow as pa

from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import Batch, DeltaOperator
from penstock.delta.columns import HIDDEN, named


def table_of(batch, types, first=0):
    """A batch in columns of the Arrow types; `first` is the place of its first row in the order of arrival."""
    columns = [pa.array([row[i] for row in batch.rows], data_type) for i, data_type in enumerate(types)]
    marks = batch.watermarks or [MIN_WATERMARK] * len(batch)
    hidden = [
        pa.array(batch.kinds, pa.int8()),
        pa.array(marks, pa.int64()),
        pa.array(range(first, first + len(batch)), pa.int64()),
    ]
    return named([*columns, *hidden])


def batch_of(table):
    columns = [column.to_pylist() for column in table.columns]
    visible, (kinds, marks, _) = columns[: -len(HIDDEN)], columns[-len(HIDDEN) :]
    return Batch(list(zip(*visible, strict=True)), kinds, marks)


class ByRows(DeltaOperator):
    """A columnar operator behind the interface of the others; `types` are those of each input."""

    def __init__(self, operator, *types):
        self._operator, self._types = operator, types

    def open(self, context):
        super().open(context)
        context.max_parallelism = 16
        self._operator.open(context)

    def begin_epoch(self):
        super().begin_epoch()
        self._operator.begin_epoch()

    def process(self, input_index, batch):
        self._operator.process_table(input_index, table_of(batch, self._types[input_index]))

    def advance(self, watermark):
        self._operator.advance(watermark)

    def end_epoch(self):
        self._operator.end_epoch()
        for table in self._operator.output_tables:
            for row, kind, mark in zip(*_parts(batch_of(table)), strict=True):
                self.output.append(row, kind, mark)


def _parts(batch):
    return batch.rows, batch.kinds, batch.watermarks


def _halves(batch, at):
    marks = batch.watermarks
    return (
        Batch(batch.rows[:at], batch.kinds[:at], marks and marks[:at]),
        Batch(batch.rows[at:], batch.kinds[at:], marks and marks[at:]),
    )


class WithLocal(DeltaOperator):
    """An operator whose input goes through a local stage first, as if two tasks had sent it.

    As in a task, the operator sees the columns when the watermark of the epoch is known.
    """

    def __init__(self, local, operator, types):
        self._local, self._operator, self._types = local, operator, types

    def open(self, context):
        super().open(context)
        self._operator.open(context)

    def begin_epoch(self):
        self._operator.begin_epoch()
        self._table = None

    def process(self, input_index, batch):
        half = len(batch) // 2
        parts = [self._local(table_of(part, self._types)) for part in _halves(batch, half) if len(part)]
        self._table = self._local.combine(pa.concat_tables(parts))

    def advance(self, watermark):
        self._process(watermark)
        self._operator.advance(watermark)

    def end_epoch(self):
        self._process(self.context.watermark)
        self._operator.end_epoch()

    def _process(self, watermark):
        if self._table is not None:
            rest = self._operator.take_columns(0, self._table, watermark)
            self._operator.process(0, batch_of(rest))
            self._table = None

    @property
    def output(self):
        found = self._operator.output
        for batch in map(batch_of, self._operator.output_tables):
            for row, kind, mark in zip(*_parts(batch), strict=True):
                found.append(row, kind, mark)
        self._operator.output_tables = []
        return found

    @output.setter
    def output(self, batch):
        pass


class ByColumns(DeltaOperator):
    """An operator that may take columns behind the interface of the others, with its local stage if it has one.

    As in a task, the operator sees the tables of its inputs when the watermark of the epoch is known.
    """

    def __init__(self, operator, *types, local=None):
        self._operator, self._types, self._local = operator, types, local

    def open(self, context):
        super().open(context)
        context.max_parallelism = 16
        self._operator.open(context)

    def begin_epoch(self):
        super().begin_epoch()
        self._operator.begin_epoch()
        self._tables = {}

    def process(self, input_index, batch):
        half, types = len(batch) // 2, self._types[input_index]
        first, second = _halves(batch, half)
        parts = [table_of(part, types, at) for part, at in ((first, 0), (second, half)) if len(part)]
        if self._local is not None:
            parts = [self._local(part) for part in parts]
        table = pa.concat_tables(parts)
        self._tables[input_index] = table if self._local is None else self._local.combine(table)

    def advance(self, watermark):
        self._process(watermark)
        self._operator.advance(watermark)

    def end_epoch(self):
        self._process(self.context.watermark)
        self._operator.end_epoch()
        self.output = self._operator.output
        for table in self._operator.output_tables:
            for row, kind, mark in zip(*_parts(batch_of(table)), strict=True):
                self.output.append(row, kind, mark)

    def _process(self, watermark):
        tables, self._tables = self._tables, {}
        for index in sorted(tables):
            rest = self._operator.take_columns(index, tables[index], watermark)
            if rest.num_rows:
                self._operator.process(index, batch_of(rest))
