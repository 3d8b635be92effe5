"""The contract of local stages."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa

from penstock.common.datatypes import DataType


class LocalStage(ABC):
    """Built by the planner, pickled, called in a task with the rows of an epoch (or a large piece of it)."""

    @abstractmethod
    def output_types(self) -> list[DataType]:
        """The types of the columns that come out, without the hidden ones."""

    def came_from(self, column: int) -> int:
        """Which column of its input a key column of its output is."""
        return column

    @abstractmethod
    def __call__(self, table: pa.Table) -> pa.Table:
        """A table of changes (`delta/columns.py`) with at least one row; another one comes out."""

    @abstractmethod
    def apart(self, table: pa.Table) -> pa.Table:
        """The same columns with a row for each row, none put together with another."""

    def combine(self, table: pa.Table) -> pa.Table:
        """The same once more behind the exchange, where what several tasks sent has come together."""
        return table
