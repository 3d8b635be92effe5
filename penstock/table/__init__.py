"""Tables and SQL: what `pyflink.table` offers.

Names are imported when first asked for: a Python worker that unpickles a user's function imports
`penstock.table.udf`, and should not have to wait for the environment and the planner behind it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.common.types import Row, RowKind
    from penstock.table.changelog_mode import ChangelogMode
    from penstock.table.compiled_plan import CompiledPlan
    from penstock.table.data_view import DataView, ListView, MapView
    from penstock.table.environment_settings import EnvironmentSettings
    from penstock.table.explain_detail import ExplainDetail
    from penstock.table.expression import Expression
    from penstock.table.module import Module, ModuleEntry
    from penstock.table.plan_reference import PlanReference
    from penstock.table.result_kind import ResultKind
    from penstock.table.schema import Schema
    from penstock.table.sql_dialect import SqlDialect
    from penstock.table.statement_set import StatementSet
    from penstock.table.table import (
        AggregatedTable,
        FlatAggregateTable,
        GroupedTable,
        GroupWindowedTable,
        OverWindowedTable,
        Table,
        WindowGroupedTable,
    )
    from penstock.table.table_config import TableConfig
    from penstock.table.table_descriptor import FormatDescriptor, TableDescriptor
    from penstock.table.table_environment import StreamTableEnvironment, TableEnvironment
    from penstock.table.table_pipeline import TablePipeline
    from penstock.table.table_result import CloseableIterator, TableResult
    from penstock.table.table_schema import TableSchema
    from penstock.table.types import DataTypes, UserDefinedType
    from penstock.table.udf import (
        AggregateFunction,
        AsyncScalarFunction,
        FunctionContext,
        ScalarFunction,
        TableAggregateFunction,
        TableFunction,
    )

_HOMES = {
    "AggregateFunction": "udf",
    "AggregatedTable": "table",
    "AsyncScalarFunction": "udf",
    "ChangelogMode": "changelog_mode",
    "CloseableIterator": "table_result",
    "CompiledPlan": "compiled_plan",
    "DataView": "data_view",
    "DataTypes": "types",
    "EnvironmentSettings": "environment_settings",
    "ExplainDetail": "explain_detail",
    "Expression": "expression",
    "FlatAggregateTable": "table",
    "FormatDescriptor": "table_descriptor",
    "FunctionContext": "udf",
    "ListView": "data_view",
    "MapView": "data_view",
    "Module": "module",
    "ModuleEntry": "module",
    "GroupWindowedTable": "table",
    "GroupedTable": "table",
    "OverWindowedTable": "table",
    "PlanReference": "plan_reference",
    "ResultKind": "result_kind",
    "Row": "types",
    "RowKind": "types",
    "ScalarFunction": "udf",
    "Schema": "schema",
    "SqlDialect": "sql_dialect",
    "StatementSet": "statement_set",
    "StreamTableEnvironment": "table_environment",
    "Table": "table",
    "TableAggregateFunction": "udf",
    "TableConfig": "table_config",
    "TableDescriptor": "table_descriptor",
    "TableEnvironment": "table_environment",
    "TableFunction": "udf",
    "TableSchema": "table_schema",
    "TablePipeline": "table_pipeline",
    "TableResult": "table_result",
    "UserDefinedType": "types",
    "WindowGroupedTable": "table",
}

__all__ = [
    "AggregateFunction",
    "AggregatedTable",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CloseableIterator",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FlatAggregateTable",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'penstock.table' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.table.{home}"), name)
    globals()[name] = value
    return value
