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
        return FormatDescriptor.Builder(format)

    def __str__(self) -> str:
        return f"{self.format}[{{{', '.join(f'{k}={v}' for k, v in java_map_order(self.options))}}}]"

    def get_format(self) -> str:
        return self.format

    def get_options(self) -> dict[str, str]:
        return dict(self.options)

    class Builder:
        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            self._options[_key(key)] = _value(value)
            return self

        def build(self) -> FormatDescriptor:
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
        return TableDescriptor.Builder().option("connector", connector)

    @staticmethod
    def for_managed() -> TableDescriptor.Builder:
        return TableDescriptor.Builder()

    def get_schema(self) -> Schema | None:
        return self.schema

    def get_options(self) -> dict[str, str]:
        return dict(self.options)

    def get_partition_keys(self) -> list[str]:
        return list(self.partition_keys)

    def get_comment(self) -> str | None:
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
        return CatalogTable(self.schema or Schema(), dict(self.options), self.comment, self.partition_keys)

    class Builder:
        """Collects schema, options and format."""

        def __init__(self) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            self._schema = schema
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            self._options[_key(key)] = _value(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: Any = None
        ) -> TableDescriptor.Builder:
            prefix = "" if format_option is None else _key(format_option).removesuffix("format")
            descriptor = FormatDescriptor(format) if isinstance(format, str) else format
            self._options[f"{prefix}format"] = descriptor.format
            for key, value in descriptor.options.items():
                self._options[f"{prefix}{descriptor.format}.{key}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            self._partition_keys = tuple(partition_keys)
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
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
