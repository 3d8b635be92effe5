"""Columns whose types are known: what a bound table or a query result looks like from outside."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.catalog.schema import Schema
from penstock.catalog.table_schema import TableSchema
from penstock.common.datatypes import DataType, RowField, RowType

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


def _only_text(text: str, data_type: DataType) -> Any:
    return text


resolved_by_text: Callable[[str, DataType], Any] = _only_text
"""Makes an expression of SQL text. The Table API, which has such expressions, puts it here when it is imported."""


@dataclass(frozen=True)
class Column:
    """A column with a type. `time_attribute` is "", "ROWTIME" or "PROCTIME"."""

    name: str
    data_type: DataType
    comment: str | None = None
    time_attribute: str = ""

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column that the external system stores."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: Any) -> ComputedColumn:
        """A column that an expression computes.

        Args:
            name: Its name.
            resolved_expression: A `ResolvedExpression`; the column has its type.
        """
        known = hasattr(type(resolved_expression), "get_output_data_type")
        data_type = resolved_expression.get_output_data_type() if known else resolved_expression.type
        given = resolved_expression if known else None
        return ComputedColumn(name, data_type, expression=_sql_text(resolved_expression), resolved=given)

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column that the connector or format fills.

        Args:
            name: Its name.
            data_type: Its type.
            metadata_key: The connector's name for it; None: the column's.
            is_virtual: The column is left out when the table is written.
        """
        return MetadataColumn(name, data_type, metadata_key=metadata_key, virtual=is_virtual)

    def with_comment(self, comment: str | None) -> Column:
        """The same column with a comment; None leaves it as it is."""
        return self if comment is None else replace(self, comment=comment)

    def copy(self, new_type: DataType) -> Column:
        """The same column with another type."""
        return replace(self, data_type=new_type)

    def rename(self, new_name: str) -> Column:
        """The same column with another name."""
        return replace(self, name=new_name)

    def get_name(self) -> str:
        """Its name."""
        return self.name

    def get_data_type(self) -> DataType:
        """Its type."""
        return self.data_type

    def get_comment(self) -> str | None:
        """Its comment, None if there is none."""
        return self.comment

    def is_physical(self) -> bool:
        """Whether the external system stores it."""
        return False

    def is_persisted(self) -> bool:
        """Whether an INSERT writes it."""
        return False

    def explain_extras(self) -> str | None:
        """What DESCRIBE puts under "extras"."""
        return None

    def as_summary_string(self) -> str:
        """The column as DESCRIBE and `str()` show it: name, type, what it comes from."""
        time = f"*{self.time_attribute}*" if self.time_attribute else None
        parts = [f"`{self.name}` {self.data_type.as_summary()}", time, self.explain_extras()]
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.as_summary_string()


def _sql_text(expression: Any) -> str:
    text = getattr(type(expression), "as_serializable_string", None)
    return str(expression) if text is None else text(expression)


class _Retyped:
    """PyFlink's kinds of columns call the parameter of `copy` otherwise than `Column` does."""

    def copy(self, new_data_type: DataType) -> Any:
        """The same column with another type."""
        return replace(self, data_type=new_data_type)  # type: ignore[type-var]


@dataclass(frozen=True)
class PhysicalColumn(_Retyped, Column):
    """A column that the external system stores."""

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class ComputedColumn(_Retyped, Column):
    """A column computed from the others whenever the table is read."""

    expression: str = ""
    resolved: Any = field(default=None, compare=False, repr=False)

    def get_expression(self) -> Any:
        """What computes it, as a `ResolvedExpression` of the Table API."""
        return resolved_by_text(self.expression, self.data_type) if self.resolved is None else self.resolved

    def explain_extras(self) -> str | None:
        return f"AS {self.expression}"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class MetadataColumn(_Retyped, Column):
    """A column that the connector or format knows about a row."""

    metadata_key: str | None = None
    virtual: bool = False

    def get_metadata_key(self) -> str | None:
        """The connector's name for it, None where it is the column's."""
        return self.metadata_key

    def is_virtual(self) -> bool:
        """Whether it is left out when the table is written."""
        return self.virtual

    def is_persisted(self) -> bool:
        return not self.virtual

    def explain_extras(self) -> str | None:
        text = "METADATA" + (f" FROM '{self.metadata_key}'" if self.metadata_key is not None else "")
        return text + (" VIRTUAL" if self.virtual else "")

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class WatermarkSpec:
    """Which column is the row time and the SQL text of its watermark."""

    rowtime_attribute: str
    watermark_expression: str
    data_type: DataType | None = None
    """Of the row time, where it is known."""

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: Any) -> WatermarkSpec:
        """The watermark of a row time.

        Args:
            rowtime_attribute: The column.
            watermark_expression: SQL text or a `ResolvedExpression`.
        """
        return WatermarkSpec(rowtime_attribute, _sql_text(watermark_expression))

    def get_rowtime_attribute(self) -> str:
        """The column that is the row time."""
        return self.rowtime_attribute

    def get_watermark_expression(self) -> str:
        """The SQL text of the watermark."""
        return self.watermark_expression

    def as_summary_string(self) -> str:
        """The watermark as `str()` of a schema shows it."""
        shown = f": {self.data_type.as_summary()}" if self.data_type is not None else ""
        return f"WATERMARK FOR `{self.rowtime_attribute}`{shown} AS {self.watermark_expression}"


class Constraint:
    """What is said about the rows of a table. Nothing here checks it."""

    class ConstraintType(enum.Enum):
        """What kind of constraint it is."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    name: str

    def get_name(self) -> str:
        """The constraint's name."""
        return self.name

    def is_enforced(self) -> bool:
        """Always False: nothing checks that rows keep to it."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        """Which kind of constraint it is."""
        return Constraint.ConstraintType.PRIMARY_KEY

    def as_summary_string(self) -> str:
        """The constraint as `str()` of a schema shows it."""
        return f"CONSTRAINT `{self.name}`"


@dataclass(frozen=True)
class UniqueConstraint(Constraint):
    """A primary key; never enforced."""

    name: str
    columns: tuple[str, ...]

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """A primary key of these columns."""
        return UniqueConstraint(name, tuple(columns))

    def get_type_string(self) -> str:
        """The words for it in SQL: "PRIMARY KEY"."""
        return "PRIMARY KEY"

    def get_columns(self) -> list[str]:
        """The columns of the key, in order."""
        return list(self.columns)

    def as_summary_string(self) -> str:
        keys = ", ".join(f"`{c}`" for c in self.columns)
        return f"CONSTRAINT `{self.name}` PRIMARY KEY ({keys}) NOT ENFORCED"


class ResolvedSchema:
    """Columns with types, watermarks and the key."""

    def __init__(
        self,
        columns: list[Column] | None = None,
        watermark_specs: list[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns = list(columns or [])
        self._watermark_specs = list(watermark_specs or [])
        self._primary_key = primary_key

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """A schema of these columns, without watermark and key."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """A schema of physical columns, by their names and types."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema([PhysicalColumn(name, data_type) for name, data_type in pairs])

    def get_column_count(self) -> int:
        """How many columns there are."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """The columns, in order."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return [c.name for c in self._columns]

    def get_field_names(self) -> list[str]:
        """The old name of `get_column_names`, of TableSchema."""
        return self.get_column_names()

    def get_field_data_types(self) -> list[DataType]:
        """The old name of `get_column_data_types`, of TableSchema."""
        return self.get_column_data_types()

    def get_column_data_types(self) -> list[DataType]:
        """The types of the columns, in order."""
        return [c.data_type for c in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """The column at an index or of a name, None if there is none."""
        if isinstance(column_index_or_name, int):
            inside = 0 <= column_index_or_name < len(self._columns)
            return self._columns[column_index_or_name] if inside else None
        return next((c for c in self._columns if c.name == column_index_or_name), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """The watermarks: one at most."""
        return list(self._watermark_specs)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The primary key, None if there is none."""
        return self._primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """Where the columns of the primary key stand; empty if there is none."""
        names = self.get_column_names()
        return [names.index(c) for c in self._primary_key.columns] if self._primary_key else []

    def to_table_schema(self) -> TableSchema:
        """All columns in the form of Flink 1.x."""
        return TableSchema.of_columns((c.name, c.data_type, c.time_attribute) for c in self._columns)

    def to_physical_row_data_type(self) -> DataType:
        """A ROW type of the columns that the external system stores."""
        return self._row_type([c for c in self._columns if c.is_physical()])

    def to_source_row_data_type(self) -> DataType:
        """A ROW type of all columns: what a query that reads the table sees."""
        return self._row_type(self._columns)

    def to_sink_row_data_type(self) -> DataType:
        """A ROW type of the columns that an INSERT writes."""
        return self._row_type([c for c in self._columns if c.is_persisted()])

    def to_schema(self) -> Schema:
        """The schema one could have declared to get this one; computed columns become physical."""
        builder = Schema.new_builder()
        for column in self._columns:
            builder.column(column.name, column.data_type).with_comment(column.comment)
        for spec in self._watermark_specs:
            builder.watermark(spec.rowtime_attribute, spec.watermark_expression)
        if self._primary_key:
            builder.primary_key_named(self._primary_key.name, *self._primary_key.columns)
        return builder.build()

    @staticmethod
    def _row_type(columns: list[Column]) -> RowType:
        return RowType([RowField(c.name, c.data_type) for c in columns], nullable=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(self._columns))

    def __str__(self) -> str:
        lines = [f"  {c.as_summary_string()}" for c in self._columns]
        lines += [f"  {w.as_summary_string()}" for w in self._watermark_specs]
        if self._primary_key:
            lines.append(f"  {self._primary_key.as_summary_string()}")
        return "(\n" + ",\n".join(lines) + "\n)"
