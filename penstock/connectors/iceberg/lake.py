"""A table of a catalog: where it is, and errors that name it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.common.errors import (
    ExternalSystemError,
    MissingDependencyError,
    PenstockError,
    ValidationError,
)

__all__ = ["IcebergTable", "iceberg_library"]


def iceberg_library() -> Any:
    """The package pyiceberg, or an error that says what to install."""
    try:
        import pyiceberg.catalog
        import pyiceberg.exceptions
    except ImportError:
        raise MissingDependencyError(
            "Iceberg tables need the package pyiceberg", do="pip install 'penstock[iceberg]'"
        ) from None
    return pyiceberg


@dataclass(frozen=True)
class IcebergTable:
    """Pickled into tasks. `properties` are pyiceberg's own: type of the catalog, address, warehouse, credentials."""

    catalog_name: str
    properties: Mapping[str, str] = field(repr=False)
    database: str
    name: str

    @property
    def identifier(self) -> tuple[str, str]:
        return (self.database, self.name)

    @property
    def where(self) -> str:
        return f"Iceberg table {self.catalog_name}.{self.database}.{self.name}"

    def catalog(self) -> Any:
        with self.explained("cannot open the catalog"):
            return iceberg_library().catalog.load_catalog(self.catalog_name, **dict(self.properties))

    def opened(self) -> Any:
        """The table as it is now.

        Raises:
            ExternalSystemError: There is none, or the catalog cannot be reached.
        """
        catalog = self.catalog()
        try:
            with self.explained("cannot open the table"):
                return catalog.load_table(self.identifier)
        except _Missing:
            missing = ExternalSystemError(
                "the table does not exist", where=self.where, do="create it, or correct its name"
            )
            missing.retryable = False
            raise missing from None

    def made(self, schema: pa.Schema, partition_by: Sequence[str]) -> Any:
        """The table; it is made if it is not there."""
        catalog = self.catalog()
        try:
            with self.explained("cannot open the table"):
                return catalog.load_table(self.identifier)
        except _Missing:
            pass
        with self.explained("the table cannot be made"):
            catalog.create_namespace_if_not_exists(self.database)
            table = catalog.create_table_if_not_exists(self.identifier, schema)
            if partition_by and not table.spec().fields:
                with table.update_spec() as update:
                    for name in partition_by:
                        update.add_identity(name)
            return catalog.load_table(self.identifier)

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Errors of the library as ours."""
        errors = iceberg_library().exceptions
        try:
            yield
        except PenstockError:
            raise
        except (errors.NoSuchTableError, errors.NoSuchNamespaceError) as error:
            raise _Missing(what) from error
        except (ValueError, TypeError, KeyError) as error:
            raise ValidationError(f"{what}: {_text(error)}", where=self.where) from error
        except (
            Exception
        ) as error:  # the catalog's own: of its database, of its HTTP client, of the object store
            raise ExternalSystemError(f"{what}: {_text(error)}", where=self.where) from error


class _Missing(PenstockError):
    """There is no such table, or no such database."""


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
