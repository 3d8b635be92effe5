"""What is known about the contents of tables. Kept for who asks; Spark's optimizer looks at the data itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["CatalogColumnStatistics", "CatalogTableStatistics"]


@dataclass(frozen=True)
class CatalogTableStatistics:
    """Counts and sizes of a table or partition; -1 where they are not known."""

    row_count: int = -1
    field_count: int = -1
    total_size: int = -1
    raw_data_size: int = -1
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_row_count(self) -> int:
        """How many rows there are, -1 if not known."""
        return self.row_count

    def get_field_count(self) -> int:
        """The second number that was given: files, in Flink's Java API; -1 if not known."""
        return self.field_count

    def get_total_size(self) -> int:
        """Bytes as stored, -1 if not known."""
        return self.total_size

    def get_raw_data_size(self) -> int:
        """Bytes before compression, -1 if not known."""
        return self.raw_data_size

    def get_properties(self) -> dict[str, str]:
        """A copy of the properties."""
        return dict(self.properties)

    def copy(self) -> CatalogTableStatistics:
        """Equal statistics whose properties are their own."""
        return replace(self, properties=dict(self.properties))


@dataclass(frozen=True)
class CatalogColumnStatistics:
    """Whatever a program says about columns, by their names."""

    column_statistics_data: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_column_statistics_data(self) -> dict[str, Any]:
        """What was said about the columns, by name."""
        return dict(self.column_statistics_data)

    def get_properties(self) -> dict[str, str]:
        """A copy of the properties."""
        return dict(self.properties)

    def copy(self) -> CatalogColumnStatistics:
        """Equal statistics whose parts are their own."""
        return CatalogColumnStatistics(dict(self.column_statistics_data), dict(self.properties))
