"""A SQL session: parse a statement, carry it out, give rows back.

`SqlSession.execute(text)` is the whole walk: `dialect` reads the text, `operations/` has a function per
statement class, queries go through `binder` to the algebra and to an executor: `batch` here, the streaming
engine where the session streams.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from sqlglot import exp

from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.resolved_schema import Column, PhysicalColumn, ResolvedSchema
from penstock.common.config_check import tell_mistyped_keys
from penstock.common.configuration import Configuration
from penstock.common.errors import NotSupportedError
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.query import QueryBinder
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.dialect.statements import Statement
from penstock.sql.failing_places import with_places
from penstock.sql.plan.algebra import MatchRecognize, Plan, StreamScan, walk_plan
from penstock.sql.result import StatementResult
from penstock.sql.spark.batch import BatchExecutor
from penstock.sql.spark.hive_dialect import HiveDialect, is_flinks, speaks_hive


class SqlSession:
    """Catalogs, configuration and an executor."""

    def __init__(
        self, catalogs: CatalogManager, config: MutableMapping[str, str], streaming: bool = False
    ) -> None:
        self.catalogs = catalogs
        self.config = config
        self.streaming = streaming
        self.pending_inserts: list[Any] | None = None
        self._executor: Any = None
        self._hive: HiveDialect | None = None

    @property
    def executor(self) -> Any:
        """What runs plans: `rows(plan)`, `insert(sink)`, `validate(plan)`, `text(plan)`."""
        if self._executor is None:
            self._executor = (
                _streaming_executor(self.config) if self.streaming else BatchExecutor(self.config)
            )
        return self._executor

    def executor_of(self, plan: Plan) -> Any:
        """What runs this plan: one that reads streams of the program, or looks for patterns, is a job of the epoch
        loop in BATCH mode too."""
        if not self.streaming and any(
            isinstance(node, (StreamScan, MatchRecognize)) for node in walk_plan(plan)
        ):
            return _streaming_executor(self.config, one_epoch=True)
        return self.executor

    def execute(self, text: str) -> StatementResult:
        if speaks_hive(self.config) and not is_flinks(text):
            return self.hive.execute(text)
        return self.run(parse_statement(text))

    @property
    def hive(self) -> HiveDialect:
        """What runs statements of Hive's dialect."""
        if self._hive is None:
            self._hive = HiveDialect(self)
        return self._hive

    def parse(self, text: str) -> Statement:
        """A statement of Flink's dialect, where only that one can be used.

        Raises:
            NotSupportedError: The session speaks Hive's.
        """
        if speaks_hive(self.config):
            raise NotSupportedError(
                "this call in the Hive dialect",
                "its statements are run by Spark at once",
                do="use execute_sql(...) or sql_query(...), or SET 'table.sql-dialect' = 'default'",
            )
        return parse_statement(text)

    def run(self, statement: Statement) -> StatementResult:
        from penstock.sql.operations import run_statement

        return with_places(run_statement(self, statement), statement.sql)

    # -- queries ---------------------------------------------------------------------------------------

    def context(self, sql: str) -> BindContext:
        return BindContext(self.catalogs, self.streaming, self.config, sql)

    def bind(self, ast: exp.Expr, sql: str) -> Plan:
        """The plan of a query, checked as far as it can be without running it."""
        return QueryBinder(self.context(sql)).bind(ast)

    def query(self, plan: Plan) -> StatementResult:
        """Rows of a plan, computed when they are asked for; the plan is validated now."""
        tell_mistyped_keys(Configuration.from_dict(self.config))
        self.executor_of(plan).validate(plan)
        schema = result_schema(plan, self.streaming)
        zone = self.config.get("table.local-time-zone", "default")
        return StatementResult(
            schema,
            lambda: self.executor_of(plan).rows(plan),
            is_query=True,
            streaming=self.streaming,
            zone="UTC" if zone == "default" else zone,
        )


def result_schema(plan: Plan, streaming: bool = False) -> ResolvedSchema:
    """Output columns with unique names, as Flink makes them: a second `a` is `a0`."""
    names = unique_names([f.name for f in plan.fields])
    columns: list[Column] = []
    for name, column in zip(names, plan.fields, strict=True):
        time = {"rowtime": "ROWTIME", "proctime": "PROCTIME"}.get(column.time, "") if streaming else ""
        columns.append(PhysicalColumn(name, column.type, time_attribute=time))
    return ResolvedSchema(columns)


def unique_names(names: list[str]) -> list[str]:
    """
    >>> unique_names(["a", "b", "a", "a"])
    ['a', 'b', 'a0', 'a1']
    """
    used: set[str] = set()
    result = []
    for name in names:
        candidate, i = name, 0
        while candidate in used:
            candidate, i = f"{name}{i}", i + 1
        used.add(candidate)
        result.append(candidate)
    return result


def _streaming_executor(config: MutableMapping[str, str], one_epoch: bool = False) -> Any:
    from penstock.sql.streaming.executor import StreamingExecutor

    return StreamingExecutor(config, one_epoch)
