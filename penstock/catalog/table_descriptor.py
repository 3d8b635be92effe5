"""Tables described in Python instead of DDL."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


@dataclass(frozen=True)
class FormatDescriptor:
    """A format and its options, without the format's name in front of the keys."""

    format: str
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Begins the description of a format by its name, such as "json".

        >>> print(FormatDescriptor.for_format("json").option("ignore-parse-errors", True).build())
        json[{ignore-parse-errors=true}]
        """
        return FormatDescriptor.Builder(format)

    def __str__(self) -> str:
        return f"{self.format}[{{{', '.join(f'{k}={v}' for k, v in java_map_order(self.options))}}}]"

    def get_format(self) -> str:
        """The name of the format."""
        return self.format

    def get_options(self) -> dict[str, str]:
        """A copy of the options, keys without the format's name."""
        return dict(self.options)

    class Builder:
        """Collects the options of a format."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            """Sets an option of the format; the last value of a key counts.

            Args:
                key: The key as text or as a `ConfigOption`, without the format's name in front.
                value: Any value; it is kept as text, booleans in lower case.
            """
            self._options[_key(key)] = _value(value)
            return self

        def build(self) -> FormatDescriptor:
            """The format and its options as they are now; the builder may be used further."""
            return FormatDescriptor(self._format, dict(self._options))


@dataclass(frozen=True)
class TableDescriptor:
    """A table without a name."""

    schema: Schema | None = None
    options: dict[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Begins the description of a table that a connector reads or writes.

        >>> schema = Schema.new_builder().column("n", "INT").build()
        >>> TableDescriptor.for_connector("print").schema(schema).build().get_options()
        {'connector': 'print'}
        """
        return TableDescriptor.Builder().option("connector", connector)

    @staticmethod
    def for_managed() -> TableDescriptor.Builder:
        """Begins the description of a table without a connector; some connector has to be set by an option."""
        return TableDescriptor.Builder()

    def get_schema(self) -> Schema | None:
        """The declared schema, None if none was given."""
        return self.schema

    def get_options(self) -> dict[str, str]:
        """A copy of the options, those of the format among them."""
        return dict(self.options)

    def get_partition_keys(self) -> list[str]:
        """The partition columns, in order; empty if the table is not partitioned."""
        return list(self.partition_keys)

    def get_comment(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def __str__(self) -> str:
        """The part of a CREATE TABLE behind the table's name."""
        parts = [str(self.schema or Schema())]
        if self.comment is not None:
            parts.append("COMMENT " + _text(self.comment))
        if self.partition_keys:
            parts.append(f"PARTITIONED BY ({', '.join(_name(key) for key in self.partition_keys)})")
        options = ",\n".join(f"  {_text(k)} = {_text(v)}" for k, v in java_map_order(self.options))
        parts.append(f"WITH (\n{options}\n)")
        return "\n".join(parts)

    def to_catalog_table(self) -> CatalogTable:
        """The same table as a catalog keeps it."""
        return CatalogTable(self.schema or Schema(), dict(self.options), self.comment, self.partition_keys)

    class Builder:
        """Collects schema, options and format."""

        def __init__(self) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Declares the columns, replacing an earlier declaration."""
            self._schema = schema
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            """Sets an option of the table; the last value of a key counts.

            Args:
                key: The key as text or as a `ConfigOption`.
                value: Any value; it is kept as text, booleans in lower case.
            """
            self._options[_key(key)] = _value(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: Any = None
        ) -> TableDescriptor.Builder:
            """Sets the format and its options.

            Args:
                format: A name, or a `FormatDescriptor` that has options too.
                format_option: The option to set, where a table has several formats: "key.format" or "value.format".

            >>> avro = FormatDescriptor.for_format("avro").option("codec", "snappy").build()
            >>> TableDescriptor.for_connector("kafka").format(avro, "value.format").build().get_options()
            {'connector': 'kafka', 'value.format': 'avro', 'value.avro.codec': 'snappy'}
            """
            prefix = "" if format_option is None else _key(format_option).removesuffix("format")
            descriptor = FormatDescriptor(format) if isinstance(format, str) else format
            self._options[f"{prefix}format"] = descriptor.format
            for key, value in descriptor.options.items():
                self._options[f"{prefix}{descriptor.format}.{key}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Names the partition columns, in order."""
            self._partition_keys = tuple(partition_keys)
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Sets what people are told about the table."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The table as described so far; nothing is checked before it is registered."""
            return TableDescriptor(self._schema, dict(self._options), self._partition_keys, self._comment)


def java_map_order(options: dict[str, str]) -> list[tuple[str, str]]:
    """Entries in the order in which a Java HashMap gives them, which is the order Flink prints them in.

    >>> java_map_order({"connector": "x", "a": "1", "format": "f"})
    [('a', '1'), ('connector', 'x'), ('format', 'f')]
    """
    buckets = 16
    while len(options) > buckets * 3 // 4:
        buckets *= 2

    def bucket(key: str) -> int:
        found = 0
        for unit in struct.unpack(f">{len(key.encode('utf-16-be')) // 2}H", key.encode("utf-16-be")):
            found = (31 * found + unit) & 0xFFFFFFFF
        return (found ^ (found >> 16)) & (buckets - 1)

    return sorted(options.items(), key=lambda entry: bucket(entry[0]))


def _text(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"


def _name(name: str) -> str:
    quoted = name.replace("`", "``")
    return f"`{quoted}`"


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key.key)


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
