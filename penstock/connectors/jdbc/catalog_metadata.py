"""What a JDBC catalog asks a server, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import DataType
from penstock.common.errors import NotSupportedError


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a table; `data_type` is None where Flink has no type for what the database calls `type_text`."""

    name: str
    type_text: str
    data_type: DataType | None
    nullable: bool

    def flink_type(self, table: str) -> DataType:
        if self.data_type is None:
            raise NotSupportedError(
                f"column '{self.name}' of type {self.type_text}",
                "Flink has no type for it",
                where=f"table {table}",
                do="declare the table with CREATE TEMPORARY TABLE, without the column or as STRING",
            )
        return self.data_type.with_nullability(self.nullable)


class Metadata(ABC):
    """The questions. `table` is the name within Flink's database, such as `schema.table`."""

    @abstractmethod
    def databases(self, connection: Any) -> list[str]:
        """The databases that hold what users put there."""

    @abstractmethod
    def tables(self, connection: Any, database: str) -> list[str]:
        """Names of tables, complete ones as `full_name` gives them."""

    @abstractmethod
    def columns(self, connection: Any, database: str, table: str) -> list[ColumnInfo]:
        """The columns in order; none if there is no such table."""

    @abstractmethod
    def primary_key(self, connection: Any, database: str, table: str) -> tuple[str, list[str]]:
        """The constraint's name and its columns in order; no columns if there is none."""

    def full_name(self, table: str) -> str:
        return table

    def table_name(self, table: str) -> str:
        """The table as the option 'table-name' wants it."""
        return table


def ask(connection: Any, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute(sql, values)
    rows: list[tuple[Any, ...]] = list(cursor.fetchall())
    cursor.close()
    return rows
