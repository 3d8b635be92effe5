"""The paths that name objects of catalogs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.common.errors import ValidationError

__all__ = ["ObjectIdentifier", "ObjectPath", "split_path"]


@dataclass(frozen=True, order=True)
class ObjectPath:
    """database.object within one catalog."""

    database_name: str = ""
    object_name: str = ""

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path written as `database.object`.

        >>> ObjectPath.from_string("sales.orders").get_object_name()
        'orders'
        """
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ValidationError(f"{full_name!r} is not a path", do="write it as database.object")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """The database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The table, view, function or model."""
        return self.object_name

    def get_full_name(self) -> str:
        """Both, as `database.object`."""
        return f"{self.database_name}.{self.object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        """-1, 0 or 1: where this path stands in alphabetical order beside the other."""
        return (self > other) - (self < other)

    def __str__(self) -> str:
        return self.get_full_name()


@dataclass(frozen=True, order=True)
class ObjectIdentifier:
    """catalog.database.object."""

    catalog_name: str
    database_name: str
    object_name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The identifier of these three names."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The catalog."""
        return self.catalog_name

    def get_database_name(self) -> str:
        """The database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The table, view, function or model."""
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        """The path within the catalog."""
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        """The three names."""
        return [self.catalog_name, self.database_name, self.object_name]

    def as_serializable_string(self) -> str:
        """The three names in backquotes, as SQL reads them.

        >>> ObjectIdentifier("cat", "db", "my table").as_serializable_string()
        '`cat`.`db`.`my table`'
        """
        return ".".join("`" + part.replace("`", "``") + "`" for part in self.to_list())

    def as_summary_string(self) -> str:
        """The three names with dots between, for people."""
        return ".".join(self.to_list())

    def __str__(self) -> str:
        return self.as_serializable_string()


def split_path(path: str) -> tuple[str, ...]:
    """The parts of a dotted name; backquotes keep dots.

    >>> split_path("a.`b.c`")
    ('a', 'b.c')
    """
    return tuple(
        (quoted or plain).replace("``", "`")
        for quoted, plain in re.findall(r"`((?:[^`]|``)+)`|([^.`]+)", path)
    )
