"""Descriptors of Flink 1.x: a schema as a dictionary of properties.

They only make properties. Tables are described by `TableDescriptor` and `Schema.new_builder()` of `penstock.table`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.catalog.table_schema import TableSchema
from penstock.common.datatypes import DataType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.datastream.builder import deprecated

__all__ = ["Rowtime", "Schema"]


class Descriptor(ABC):
    """Something that can be written down as properties."""

    def __init__(self) -> None:
        deprecated(f"descriptors.{type(self).__name__}", "TableDescriptor and Schema.new_builder()")

    @abstractmethod
    def to_properties(self) -> dict[str, str]:
        """Everything said so far, as texts by key."""


class Rowtime(Descriptor):
    """Where the event time of a row comes from, and the watermarks."""

    def __init__(self) -> None:
        super().__init__()
        self._properties: dict[str, str] = {}

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        """The event time is a field's value."""
        return self._timestamps({"type": "from-field", "from": field_name})

    def timestamps_from_source(self) -> Rowtime:
        """The event time is that of the record, as the source gives it."""
        return self._timestamps({"type": "from-source"})

    def timestamps_from_extractor(self, extractor: str) -> Rowtime:
        """Refused: an extractor is a Java class."""
        raise NotSupportedError(f"the timestamp extractor {extractor}", "it is a Java class")

    def watermarks_periodic_ascending(self) -> Rowtime:
        """Event times never fall back: the watermark follows the highest one."""
        return self._watermarks({"type": "periodic-ascending"})

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """Watermarks that lag behind the largest event time by `delay` milliseconds."""
        return self._watermarks({"type": "periodic-bounded", "delay": str(delay)})

    def watermarks_from_source(self) -> Rowtime:
        """The watermarks are the source's own."""
        return self._watermarks({"type": "from-source"})

    def watermarks_from_strategy(self, strategy: str) -> Rowtime:
        """Refused: a strategy is a Java class."""
        raise NotSupportedError(f"the watermark strategy {strategy}", "it is a Java class")

    def _timestamps(self, said: dict[str, str]) -> Rowtime:
        return self._set("rowtime.timestamps.", said)

    def _watermarks(self, said: dict[str, str]) -> Rowtime:
        return self._set("rowtime.watermarks.", said)

    def _set(self, prefix: str, said: dict[str, str]) -> Rowtime:
        kept = {k: v for k, v in self._properties.items() if not k.startswith(prefix)}
        self._properties = {**kept, **{prefix + k: v for k, v in said.items()}}
        return self

    def to_properties(self) -> dict[str, str]:
        """What was said so far, as properties."""
        return dict(self._properties)


_OLD_NAMES = {"SQL_TIMESTAMP": "TIMESTAMP(3)", "SQL_DATE": "DATE", "SQL_TIME": "TIME(0)"}


class Schema(Descriptor):
    """Fields with types, in order; what follows a field is about that field."""

    def __init__(
        self,
        schema: TableSchema | None = None,
        fields: dict[str, DataType | str] | None = None,
        rowtime: Rowtime | None = None,
    ) -> None:
        super().__init__()
        self._fields: dict[str, dict[str, str]] = {}
        self._last: str | None = None
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Schema:
        """All fields of a schema, instead of those named so far."""
        self._fields, self._last = {}, None
        names, types = table_schema.get_field_names(), table_schema.get_field_data_types()
        for name, data_type in zip(names, types, strict=True):
            self.field(name, data_type)
        return self

    def field(self, field_name: str, field_type: DataType | str) -> Schema:
        """Adds a field; what is called next is about it.

        Args:
            field_name: Its name, which must be new.
            field_type: Its type, as a `DataType` or as SQL text.
        """
        if field_name in self._fields:
            raise ValidationError(f"duplicate field name {field_name}")
        text = _OLD_NAMES.get(field_type, field_type) if isinstance(field_type, str) else field_type.as_sql()
        self._fields[field_name] = {"name": field_name, "data-type": text}
        self._last = field_name
        return self

    def fields(self, fields: dict[str, DataType | str]) -> Schema:
        """Adds fields by names and types, in the order of the dict."""
        if not isinstance(fields, dict):
            raise TypeError("fields must be stored in a dict or OrderedDict")
        for name, field_type in fields.items():
            self.field(name, field_type)
        return self

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """The last field has this name in the source."""
        self._of_last("from_origin_field")["from"] = origin_field_name
        self._last = None
        return self

    def proctime(self) -> Schema:
        """The last field is the processing time."""
        self._of_last("proctime")["proctime"] = "true"
        self._last = None
        return self

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """The last field is the event time."""
        self._of_last("rowtime").update(rowtime.to_properties())
        self._last = None
        return self

    def _of_last(self, call: str) -> dict[str, str]:
        if self._last is None:
            raise ValidationError("no field defined previously", do=f"call field(...) before {call}(...)")
        return self._fields[self._last]

    def to_properties(self) -> dict[str, str]:
        """The fields as properties `schema.0.name`, `schema.0.data-type`, …."""
        return {
            f"schema.{i}.{key}": value
            for i, said in enumerate(self._fields.values())
            for key, value in said.items()
        }
