"""Two types that only built-in functions make: structured objects and bitmaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from penstock.common.datatypes import AtomicType, RowField, RowType


class StructuredType(RowType):
    """A row with a class name, made by OBJECT_OF."""

    _parameters: ClassVar[tuple[str, ...]] = ("class_name", "_frozen_fields")  # type: ignore[assignment]

    def __init__(self, class_name: str, fields: Iterable[RowField] = (), nullable: bool = True) -> None:
        super().__init__(fields, nullable)
        self.class_name = class_name

    def _summary(self) -> str:
        fields = ", ".join(f.text(f.data_type.as_summary()) for f in self.fields)
        return f"STRUCTURED<'{self.class_name}', {fields}>"

    def _sql(self) -> str:
        fields = ", ".join(f.text(f.data_type.as_sql()) for f in self.fields)
        return f"STRUCTURED<'{self.class_name}', {fields}>"


class BitmapType(AtomicType):
    """A set of 32-bit integers, kept as the bytes of a Roaring bitmap (BINARY in Spark)."""
