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
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ValidationError(f"{full_name!r} is not a path", do="write it as database.object")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        return self.database_name

    def get_object_name(self) -> str:
        return self.object_name

    def get_full_name(self) -> str:
        return f"{self.database_name}.{self.object_name}"

    def compare_to(self, other: ObjectPath) -> int:
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
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        return self.catalog_name

    def get_database_name(self) -> str:
        return self.database_name

    def get_object_name(self) -> str:
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        return [self.catalog_name, self.database_name, self.object_name]

    def as_serializable_string(self) -> str:
        return ".".join("`" + part.replace("`", "``") + "`" for part in self.to_list())

    def as_summary_string(self) -> str:
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
