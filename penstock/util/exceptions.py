"""What goes wrong with the objects of catalogs, under the names PyFlink gives them.

In Flink they carry a Java stack trace over to Python; here they are raised directly. All are `CatalogError`s and so
`ValidationError`s: `except` of any of the three finds them.
"""

from __future__ import annotations

from penstock.common.errors import ValidationError

__all__ = [
    "CatalogError",
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]


class JavaException(ValidationError):
    """Base of what Flink's Java side would raise; `stack_trace` is the message."""

    code = "TABLE"

    def __init__(self, stack_trace: str, *, where: str | None = None, do: str | None = None) -> None:
        super().__init__(stack_trace, where=where, do=do)
        self.stack_trace = stack_trace


class TableException(JavaException):
    """A table program cannot be run as it is."""


class CatalogException(JavaException):
    """An object is missing, or is there already, or a catalog could not do what it was asked."""

    code = "CATALOG"


CatalogError = CatalogException


class DatabaseNotExistException(CatalogError):
    """There is no database of that name."""


class DatabaseAlreadyExistException(CatalogError):
    """There is a database of that name."""


class DatabaseNotEmptyException(CatalogError):
    """A database with tables is only dropped with all it holds."""


class TableNotExistException(CatalogError):
    """There is no table or view of that name."""


class TableAlreadyExistException(CatalogError):
    """There is a table or view of that name."""


class TableNotPartitionedException(CatalogError):
    """The table was declared without PARTITIONED BY."""


class PartitionNotExistException(CatalogError):
    """The table has no such partition."""


class PartitionAlreadyExistsException(CatalogError):
    """The table has that partition."""


class PartitionSpecInvalidException(CatalogError):
    """The columns of a partition are not the table's partition columns."""


class FunctionNotExistException(CatalogError):
    """There is no function of that name."""


class FunctionAlreadyExistException(CatalogError):
    """There is a function of that name."""


class ModelNotExistException(CatalogError):
    """There is no model of that name."""


class ModelAlreadyExistException(CatalogError):
    """There is a model of that name."""
