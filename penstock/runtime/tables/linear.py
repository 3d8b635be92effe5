"""Linear SQL on columns: projections, filters, functions. Rows come and go; nothing is remembered between tables.

Where poison goes to dead letters, a table on which a program fails is halved until the rows are found that it fails
on. So all rows but those come out, in their order; a function is called again for rows it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from penstock.operators.base import OperatorContext
from penstock.operators.dead_letters import bears_blame, bury_row
from penstock.runtime.tables.base import TableOperator, renamed, width_of


class TableProgram(Protocol):
    """What a linear operator does to a table; picklable. `open` and `close` come once per process and subtask."""

    @property
    def wants_closing(self) -> bool:
        """Whether something that was opened has to be closed."""

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
        found = self._through(table) if self.context.dead_letters is None else self._without_poison(table)
        if found is not None:
            self.output.emit_table(renamed(found))

    def _through(self, table: pa.Table) -> pa.Table | None:
        for program in self._programs:
            if not table.num_rows:
                return None
            table = program(table)
        return table

    def _without_poison(self, table: pa.Table) -> pa.Table | None:
        """What the programs make of the rows on which they do not fail."""
        try:
            return self._through(table)
        except Exception as error:
            if not bears_blame(error):
                raise
            if table.num_rows == 1:
                row = tuple(column[0].as_py() for column in table.columns[: width_of(table)])
                bury_row(error, self.context, row)
                return None
        half = table.num_rows // 2
        parts = (self._without_poison(part) for part in (table.slice(0, half), table.slice(half)))
        found = [part for part in parts if part is not None]
        return pa.concat_tables(found) if found else None

    def close(self) -> None:
        for program in self._programs:
            program.close()
