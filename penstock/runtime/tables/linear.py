"""Linear SQL on columns: projections, filters, functions. Rows come and go; nothing is remembered between tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from penstock.operators.base import OperatorContext
from penstock.runtime.tables.base import TableOperator, renamed


class TableProgram(Protocol):
    """What a linear operator does to a table; picklable. `open` and `close` come once per process and subtask."""

    def open(self, context: OperatorContext) -> None: ...

    def __call__(self, table: pa.Table) -> pa.Table: ...

    def close(self) -> None: ...


class LinearTableOperator(TableOperator):
    """Takes every table through its programs, one after the other; without any it only passes tables on."""

    def __init__(self, programs: Sequence[TableProgram] = ()) -> None:
        self._programs = tuple(programs)

    def open(self) -> None:
        for program in self._programs:
            program.open(self.context)

    def process_table(self, input_index: int, table: pa.Table) -> None:
        for program in self._programs:
            if not table.num_rows:
                return
            table = program(table)
        self.output.emit_table(renamed(table))

    def close(self) -> None:
        for program in self._programs:
            program.close()
