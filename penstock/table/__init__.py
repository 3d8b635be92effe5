"""Tables and SQL: what `pyflink.table` offers."""

from __future__ import annotations

from penstock.common.types import Row, RowKind
from penstock.table.changelog_mode import ChangelogMode
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import ExplainDetail
from penstock.table.result_kind import ResultKind
from penstock.table.schema import Schema
from penstock.table.sql_dialect import SqlDialect
from penstock.table.statement_set import StatementSet
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import FormatDescriptor, TableDescriptor
from penstock.table.table_environment import StreamTableEnvironment, TableEnvironment
from penstock.table.table_result import CloseableIterator, TableResult
from penstock.table.types import DataTypes

__all__ = [
    "ChangelogMode",
    "CloseableIterator",
    "DataTypes",
    "EnvironmentSettings",
    "ExplainDetail",
    "FormatDescriptor",
    "ResultKind",
    "Row",
    "RowKind",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableResult",
]
