"""Runs a program as a user would: tables over files, `execute_sql`, `collect`, on Spark."""

from __future__ import annotations

import pathlib

from penstock.table import EnvironmentSettings, TableEnvironment
from tests.properties.sql_differential.cases import Case
from tests.properties.sql_differential.linear import Row


def run_on_spark(case: Case, folder: pathlib.Path) -> list[tuple[int, Row]]:
    """The changelog of the program's result, as (kind, row). The tables' files are written to the folder."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, setting in case.settings().items():
        env.get_config().set(key, setting)
    for table in case.tables:
        path = folder / table.name
        path.write_text(table.file_text())
        env.execute_sql(table.ddl(path))
    with env.execute_sql(case.program.query.flink).collect() as rows:
        return [(row.get_row_kind().value, tuple(row)) for row in rows]
