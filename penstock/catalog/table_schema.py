"""TableSchema: names and types of columns, as Flink 1.x had them. New programs write `Schema`.

>>> schema = TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
>>> schema.get_field_data_type("b"), schema.get_field_name(5) is None
(VarCharType(2147483647, true), True)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.catalog.schema import Schema
from penstock.common.datatypes import DataType, DataTypes, RowType
from penstock.common.errors import TypeMismatchError, ValidationError

__all__ = ["TableSchema", "as_schema"]


class TableSchema:
    """Columns of a table; deprecated in favour of `Schema` and `ResolvedSchema`.

    Args:
        field_names: The names, each once.
        data_types: Their types, in the same order.
    """

    def __init__(
        self, field_names: Sequence[str] | None = None, data_types: Sequence[DataType] | None = None
    ) -> None:
        self._names, self._types = list(field_names or ()), list(data_types or ())
        self._marks = [""] * len(self._types)
        if len(self._names) != len(self._types):
            raise ValidationError(f"{len(self._names)} names for {len(self._types)} types")
        twice = sorted({name for name in self._names if self._names.count(name) > 1})
        if twice:
            raise ValidationError(f"column {', '.join(twice)} is declared more than once")

    @classmethod
    def of_columns(cls, columns: Iterable[tuple[str, DataType, str]]) -> TableSchema:
        """Names and types; the last part is ROWTIME or PROCTIME where a column is a time attribute."""
        found = list(columns)
        made = cls([name for name, _, _ in found], [data_type for _, data_type, _ in found])
        made._marks = [f" *{time}*" if time else "" for _, _, time in found]
        return made

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Begins a schema that is made column by column."""
        return TableSchema.Builder()

    def copy(self) -> TableSchema:
        """A schema with the same names and types, without marks of time attributes."""
        return TableSchema(self._names, self._types)

    def get_field_data_types(self) -> list[DataType]:
        """The types of the columns, in order."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column by its position or name; None if there is no such column."""
        if not isinstance(field, (int, str)):
            raise TypeMismatchError(f"expected the index or the name of a column, got {type(field).__name__}")
        if isinstance(field, str):
            return self._types[self._names.index(field)] if field in self._names else None
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        """How many columns there are."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name at a position; None if there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """One ROW type, not null, with the columns as its fields."""
        fields = [DataTypes.FIELD(*pair) for pair in zip(self._names, self._types, strict=True)]
        return DataTypes.ROW(fields).not_null()  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableSchema):
            return False
        return self._names == other._names and self._types == other._types

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple(self._names), tuple(self._types)))

    def __repr__(self) -> str:
        columns = zip(self._names, self._types, self._marks, strict=True)
        return "root\n" + "".join(f" |-- {name}: {kind.as_summary()}{mark}\n" for name, kind, mark in columns)

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._fields: list[tuple[str, DataType]] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Adds a column."""
            if not isinstance(data_type, DataType):
                raise TypeMismatchError(
                    f"column {name}: {data_type!r} is not a DataType", do="DataTypes.INT()"
                )
            self._fields.append((name, data_type))
            return self

        def build(self) -> TableSchema:
            """The schema; names that appear twice are refused."""
            return TableSchema(
                [name for name, _ in self._fields], [data_type for _, data_type in self._fields]
            )


def as_schema(schema: Schema | TableSchema) -> Schema:
    """A schema in today's form."""
    if isinstance(schema, Schema):
        return schema
    builder = Schema.new_builder()
    for name, data_type in zip(schema.get_field_names(), schema.get_field_data_types(), strict=True):
        builder.column(name, data_type)
    return builder.build()
