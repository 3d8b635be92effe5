"""What a user declares of a table: columns, watermark and key, before any expression is looked at.

A `Schema` holds computed columns and watermarks as SQL text. They get their types when the table is bound
(`sql/binder/tables.py`), because only then are functions and the session's time zone known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import DataType, RowType
from penstock.common.errors import ValidationError

if TYPE_CHECKING:
    from penstock.catalog.resolved_schema import ResolvedSchema

__all__ = ["Schema", "SchemaColumn", "WatermarkDeclaration"]


@dataclass(frozen=True)
class SchemaColumn:
    """One declared column: physical (only a type), computed (`expression`) or metadata (`metadata_key`).

    `metadata_key` is the key that was written, or the column's own name where none was. `declared_as` is the text
    of a type that was declared as text: `str()` shows such a type in brackets, as Flink does.
    """

    name: str
    data_type: DataType | None = None
    expression: str | None = None
    metadata_key: str | None = None
    is_virtual: bool = False
    has_own_key: bool = True
    comment: str | None = None
    declared_as: str | None = field(default=None, compare=False)

    @property
    def is_physical(self) -> bool:
        """Whether the external system stores the column."""
        return self.expression is None and self.metadata_key is None

    @property
    def is_computed(self) -> bool:
        """Whether the column is computed from others."""
        return self.expression is not None

    @property
    def is_metadata(self) -> bool:
        """Whether the column comes from what the connector or format knows about a row."""
        return self.metadata_key is not None


@dataclass(frozen=True)
class WatermarkDeclaration:
    """`WATERMARK FOR column AS expression`."""

    column: str
    expression: str


@dataclass(frozen=True)
class Schema:
    """Columns, watermark and primary key as declared; build one with `Schema.new_builder()`."""

    columns: tuple[SchemaColumn, ...] = ()
    watermarks: tuple[WatermarkDeclaration, ...] = ()
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Begins a schema.

        >>> schema = (
        ...     Schema.new_builder()
        ...     .column("id", "BIGINT NOT NULL")
        ...     .column("at", "TIMESTAMP(3)")
        ...     .watermark("at", "`at` - INTERVAL '5' SECOND")
        ...     .primary_key("id")
        ...     .build()
        ... )
        >>> [column.name for column in schema.columns], schema.primary_key
        (['id', 'at'], ('id',))
        """
        return Schema.Builder()

    def column(self, name: str) -> SchemaColumn | None:
        """The declaration of a column by its name, None if there is none."""
        return next((c for c in self.columns if c.name == name), None)

    @property
    def physical_columns(self) -> list[SchemaColumn]:
        """The columns that the external system stores, in order."""
        return [c for c in self.columns if c.is_physical]

    def __str__(self) -> str:
        lines = [f"  `{c.name}` {_describe(c)}" for c in self.columns]
        lines += [f"  WATERMARK FOR `{w.column}` AS [{w.expression}]" for w in self.watermarks]
        if self.primary_key:
            keys = ", ".join(f"`{k}`" for k in self.primary_key)
            lines.append(f"  CONSTRAINT `{self.primary_key_name}` PRIMARY KEY ({keys}) NOT ENFORCED")
        return "(\n" + ",\n".join(lines) + "\n)"

    class Builder:
        """Collects declarations; `build()` freezes them."""

        def __init__(self) -> None:
            self._schema = Schema()

        def _add(self, column: SchemaColumn) -> Schema.Builder:
            self._schema = replace(self._schema, columns=(*self._schema.columns, column))
            return self

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Adds everything another schema declares; its primary key replaces one declared here."""
            mine, other = self._schema, unresolved_schema
            self._schema = Schema(
                (*mine.columns, *other.columns),
                (*mine.watermarks, *other.watermarks),
                other.primary_key or mine.primary_key,
                other.primary_key_name or mine.primary_key_name,
            )
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """Adds the columns, watermarks and key of a bound table; computed columns become physical."""
            return self.from_schema(resolved_schema.to_schema())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Adds a physical column for each field of a ROW type.

            Raises:
                ValidationError: The type is not a ROW.
            """
            if not isinstance(data_type, RowType):
                raise ValidationError(f"a schema comes from a ROW type, not from {data_type.as_summary()}")
            for row_field in data_type:
                self.column(row_field.name, row_field.data_type)
            return self

        def from_fields(self, field_names: list[str], field_data_types: list[DataType]) -> Schema.Builder:
            """Adds physical columns by their names and types.

            Raises:
                ValidationError: There are more names than types, or fewer.
            """
            if len(field_names) != len(field_data_types):
                raise ValidationError(f"{len(field_names)} names for {len(field_data_types)} types")
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """Adds a physical column.

            Args:
                column_name: Its name.
                data_type: Its type, as SQL text ("INT NOT NULL") or as a `DataType`.
            """
            said = data_type if isinstance(data_type, str) else None
            return self._add(SchemaColumn(column_name, _as_type(data_type), declared_as=said))

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """Adds a column that is computed whenever the table is read.

            Args:
                column_name: Its name.
                expr: What computes it, as SQL text or as an expression of the Table API. The column gets its type
                    when the table is bound.
            """
            return self._add(SchemaColumn(column_name, expression=_as_text(expr)))

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Adds a column that the connector or format fills, such as a record's timestamp.

            Args:
                column_name: Its name.
                data_type: Its type; what the connector gives is cast to it.
                metadata_key: The connector's name for it, where it is not the column's.
                is_virtual: The column is left out when the table is written.
            """
            key = column_name if metadata_key is None else metadata_key
            column = SchemaColumn(
                column_name,
                _as_type(data_type),
                metadata_key=key,
                is_virtual=is_virtual,
                has_own_key=metadata_key is not None,
                declared_as=data_type if isinstance(data_type, str) else None,
            )
            return self._add(column)

        def with_comment(self, comment: str | None) -> Schema.Builder:
            """Puts a comment on the column that was added last."""
            if not self._schema.columns:
                raise ValidationError("a comment needs a column before it")
            last = replace(self._schema.columns[-1], comment=comment)
            self._schema = replace(self._schema, columns=(*self._schema.columns[:-1], last))
            return self

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """Makes a column the row time and says how far its watermark stays behind.

            Args:
                column_name: A column of type TIMESTAMP(3) or TIMESTAMP_LTZ(3).
                watermark_expr: SQL text or an expression, such as "`at` - INTERVAL '5' SECOND".
            """
            declared = WatermarkDeclaration(column_name, _as_text(watermark_expr))
            self._schema = replace(self._schema, watermarks=(*self._schema.watermarks, declared))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Declares the columns that identify a row; nothing checks that they do."""
            return self.primary_key_named("PK_" + "_".join(column_names), *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Declares the primary key under a name of its own."""
            self._schema = replace(
                self._schema, primary_key=tuple(column_names), primary_key_name=constraint_name
            )
            return self

        def build(self) -> Schema:
            """The schema as declared so far; types and expressions are checked when a table is bound to it."""
            return self._schema


def _as_type(data_type: str | DataType) -> DataType:
    return parse_type(data_type) if isinstance(data_type, str) else data_type


def _as_text(expression: Any) -> str:
    """The SQL of an expression; `call_sql(...)` shows its text in brackets, which are not part of it."""
    if isinstance(expression, str):
        return expression
    return getattr(getattr(expression, "_node", None), "text", None) or str(expression)


def _describe(column: SchemaColumn) -> str:
    if column.is_computed:
        return f"AS [{column.expression}]"
    text = column.data_type.as_summary() if column.data_type is not None else ""
    if column.declared_as is not None:
        text = f"[{column.declared_as}]"
    if column.is_metadata:
        text += " METADATA" + (f" FROM '{column.metadata_key}'" if column.has_own_key else "")
        text += " VIRTUAL" if column.is_virtual else ""
    return text
