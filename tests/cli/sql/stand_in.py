"""A stand-in for TableEnvironment: canned answers, no Spark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.cli.sql.client import Client
from penstock.cli.sql.output import Output
from penstock.common.configuration import Configuration
from penstock.common.datatypes import DataTypes
from penstock.common.types import Row
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.result import StatementResult, ok, strings
from penstock.table.resolved_schema import PhysicalColumn, ResolvedSchema
from penstock.table.table_config import TableConfig
from penstock.table.table_result import TableResult


def numbers(*rows: Row) -> StatementResult:
    """The result of a query with the columns id and name."""
    columns = [PhysicalColumn("id", DataTypes.INT()), PhysicalColumn("name", DataTypes.STRING())]
    return StatementResult(ResolvedSchema(columns), lambda: iter(rows), is_query=True)


class StandIn:
    """Answers what the first matching pattern of `answers` says; everything else is OK."""

    def __init__(self, answers: dict[str, Any] | None = None, config: dict[str, str] | None = None) -> None:
        self.answers = answers or {}
        self.config = TableConfig(Configuration.from_dict(config or {}))
        self.executed: list[str] = []
        self.streaming = False

    def execute_sql(self, text: str) -> TableResult:
        self.executed.append(text)
        parse_statement(text)
        for pattern, answer in self.answers.items():
            if re.match(pattern, text, re.I | re.S):
                found = answer(text) if callable(answer) else answer
                if isinstance(found, BaseException):
                    raise found
                return TableResult(found)
        self._set(text)
        return TableResult(ok())

    def _set(self, text: str) -> None:
        pair = re.match(r"SET\s+'([^']*)'\s*=\s*'([^']*)'", text, re.I)
        if pair:
            self.config.set(*pair.groups())
        elif text.upper() == "RESET":
            for key in list(self.config.to_map()):
                self.config.get_configuration().remove_config(key)

    def get_config(self) -> TableConfig:
        return self.config

    def list_catalogs(self) -> list[str]:
        return ["default_catalog", "lake"]

    def list_databases(self) -> list[str]:
        return ["default_database"]

    def list_tables(self) -> list[str]:
        return ["orders", "order"]

    def list_functions(self) -> list[str]:
        return ["abs", "upper", "=", "split_index"]

    def get_current_catalog(self) -> str:
        return "default_catalog"

    def get_current_database(self) -> str:
        return "default_database"


def describing(tables: dict[str, Iterable[str]]) -> Callable[[str], StatementResult]:
    """An answer to DESCRIBE."""

    def answer(text: str) -> StatementResult:
        return strings("name", tables.get(text.split()[-1], ()))

    return answer


class Session:
    """A client on a stand-in, with what it wrote."""

    def __init__(self, answers: dict[str, Any] | None = None, **config: str) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        defaults = {"execution.runtime-mode": "batch", **{k.replace("__", "."): v for k, v in config.items()}}
        self.environment = StandIn(answers, defaults)
        self.prepared = 0
        self.client = Client(
            self.environment, Output(self.out, self.err), defaults, self._switch, self._prepare
        )

    def _switch(self, environment: StandIn, streaming: bool) -> None:
        environment.streaming = streaming

    def _prepare(self) -> None:
        self.prepared += 1

    def run(self, script: str, **how: Any) -> bool:
        return self.client.run_script(script, **how)

    @property
    def shown(self) -> list[str]:
        return self.out.getvalue().splitlines()

    @property
    def errors(self) -> list[str]:
        return self.err.getvalue().splitlines()
