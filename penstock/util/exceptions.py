"""The exceptions that PyFlink programs catch around catalogs and tables.

In Flink they carry a Java stack trace over to Python; here they are raised directly. They are
`PenstockError`s, so whoever catches those catches these too.
"""

from __future__ import annotations

from penstock.common.errors import ErrorDomain, PenstockError

__all__ = [
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


class JavaException(PenstockError):
    """Base of what Flink's Java side would raise; `stack_trace` is the message."""

    code = "TABLE"
    domain = ErrorDomain.USER

    def __init__(self, stack_trace: str) -> None:
        super().__init__(stack_trace)
        self.stack_trace = stack_trace


class TableException(JavaException):
    """A table program cannot be run as it is."""


class CatalogException(JavaException):
    """A catalog could not do what it was asked."""

    code = "CATALOG"


class DatabaseAlreadyExistException(JavaException):
    """There is a database of that name."""


class DatabaseNotEmptyException(JavaException):
    """The database still has tables."""


class DatabaseNotExistException(JavaException):
    """There is no such database."""


class FunctionAlreadyExistException(JavaException):
    """There is a function of that name."""


class FunctionNotExistException(JavaException):
    """There is no such function."""


class ModelAlreadyExistException(JavaException):
    """There is a model of that name."""


class ModelNotExistException(JavaException):
    """There is no such model."""


class PartitionAlreadyExistsException(JavaException):
    """There is such a partition."""


class PartitionNotExistException(JavaException):
    """There is no such partition."""


class PartitionSpecInvalidException(JavaException):
    """The partition's keys are not those of the table."""


class TableAlreadyExistException(JavaException):
    """There is a table of that name."""


class TableNotExistException(JavaException):
    """There is no such table."""


class TableNotPartitionedException(JavaException):
    """The table has no partitions."""
