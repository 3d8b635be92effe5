"""Statements as plain data: what was asked for, nothing looked up yet.

Queries stay sqlglot trees (`ast`). A `Path` is the parts of a name as written, one to three of them. Each
statement keeps the text it came from in `sql`, so that errors can underline a piece of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.schema import Schema, SchemaColumn, WatermarkDeclaration

Path = tuple[str, ...]
Options = dict[str, str]


@dataclass(frozen=True)
class Statement:
    """Base of all statements."""

    sql: str = field(default="", repr=False, kw_only=True)


@dataclass(frozen=True)
class QueryStatement(Statement):
    """SELECT, VALUES, WITH, set operations."""

    ast: Any


@dataclass(frozen=True)
class InsertStatement(Statement):
    """INSERT INTO | OVERWRITE target [PARTITION (…)] [(columns)] query."""

    target: Path
    ast: Any
    columns: tuple[str, ...] | None = None
    partition: dict[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    hint: str | None = None


@dataclass(frozen=True)
class StatementSetStatement(Statement):
    """EXECUTE STATEMENT SET BEGIN …; … END."""

    inserts: tuple[InsertStatement, ...]


@dataclass(frozen=True)
class CompilePlanStatement(Statement):
    """COMPILE [AND EXECUTE] PLAN 'file' [IF NOT EXISTS] FOR INSERT … | STATEMENT SET …; `text` follows FOR."""

    file: str
    inserts: tuple[InsertStatement, ...]
    text: str
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True)
class ExecutePlanStatement(Statement):
    """EXECUTE PLAN 'file'."""

    file: str


@dataclass(frozen=True)
class CreateTableStatement(Statement):
    """CREATE [OR REPLACE] [TEMPORARY] TABLE in all its forms."""

    path: Path
    schema: Schema
    options: Options
    temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False
    comment: str | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: str | None = None
    like: Path | None = None
    like_options: tuple[tuple[str, str], ...] = ()
    query: Any = None
    column_order: tuple[str, ...] = ()


@dataclass(frozen=True)
class CreateViewStatement(Statement):
    """CREATE [TEMPORARY] VIEW; also ALTER VIEW … AS with `replace`."""

    path: Path
    ast: Any
    query: str
    columns: tuple[str, ...] = ()
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class CreateCatalogStatement(Statement):
    name: str
    options: Options
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class CreateDatabaseStatement(Statement):
    path: Path
    options: Options
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class CreateFunctionStatement(Statement):
    """CREATE or, with `alter`, ALTER FUNCTION. `system` ones shadow everything."""

    path: Path
    class_name: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False
    alter: bool = False
    resources: tuple[str, ...] = ()


@dataclass(frozen=True)
class AddColumns:
    """ADD or MODIFY: columns with their place, watermark, key. A place is None, "FIRST" or a column name."""

    columns: tuple[tuple[SchemaColumn, str | None], ...] = ()
    watermark: WatermarkDeclaration | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    distribution: str | None = None
    modify: bool = False


@dataclass(frozen=True)
class DropParts:
    """DROP of columns, PRIMARY KEY, CONSTRAINT, WATERMARK or DISTRIBUTION."""

    columns: tuple[str, ...] = ()
    primary_key: bool = False
    watermark: bool = False
    distribution: bool = False
    constraint: str | None = None


@dataclass(frozen=True)
class RenameColumn:
    old: str
    new: str


@dataclass(frozen=True)
class SetOptions:
    options: Options


@dataclass(frozen=True)
class ResetOptions:
    keys: tuple[str, ...]


@dataclass(frozen=True)
class RenameTo:
    path: Path


@dataclass(frozen=True)
class AlterPartitions:
    """ADD or DROP PARTITION."""

    partitions: tuple[dict[str, str], ...]
    drop: bool = False
    lenient: bool = False


@dataclass(frozen=True)
class AlterStatement(Statement):
    """ALTER TABLE | VIEW | DATABASE | CATALOG; `action` is one of the dataclasses above or a comment text."""

    kind: str
    path: Path
    action: Any
    if_exists: bool = False


@dataclass(frozen=True)
class DropStatement(Statement):
    """DROP TABLE | VIEW | DATABASE | CATALOG | FUNCTION …"""

    kind: str
    path: Path
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class UseStatement(Statement):
    """USE CATALOG c, USE [c.]db, USE MODULES a, b: `kind` is CATALOG, DATABASE or MODULES."""

    kind: str
    path: Path


@dataclass(frozen=True)
class ShowStatement(Statement):
    """SHOW …: `kind` is the words behind SHOW, such as "TABLES" or "CREATE TABLE"."""

    kind: str
    path: Path = ()
    like: str | None = None
    ignore_case: bool = False
    negated: bool = False
    partition: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DescribeStatement(Statement):
    kind: str
    path: Path
    extended: bool = False


@dataclass(frozen=True)
class ExplainStatement(Statement):
    """EXPLAIN [details] [PLAN FOR] statement; with `lineage` EXPLAIN LINEAGE, which Flink does not have."""

    statement: Statement
    details: tuple[str, ...] = ()
    lineage: bool = False


@dataclass(frozen=True)
class SetStatement(Statement):
    """SET 'key' = 'value', or SET alone."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class ResetStatement(Statement):
    key: str | None = None


@dataclass(frozen=True)
class AnalyzeTableStatement(Statement):
    path: Path
    columns: tuple[str, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True)
class UpdateStatement(Statement):
    path: Path
    assignments: tuple[tuple[str, Any], ...]
    where: Any = None


@dataclass(frozen=True)
class DeleteStatement(Statement):
    path: Path
    where: Any = None


@dataclass(frozen=True)
class TruncateStatement(Statement):
    path: Path


@dataclass(frozen=True)
class BeginStatementSetStatement(Statement):
    pass


@dataclass(frozen=True)
class EndStatementSetStatement(Statement):
    pass


@dataclass(frozen=True)
class StopJobStatement(Statement):
    """STOP JOB 'id' [WITH SAVEPOINT [WITH DRAIN]]."""

    job_id: str
    with_savepoint: bool = False
    with_drain: bool = False


@dataclass(frozen=True)
class ModuleStatement(Statement):
    """LOAD or UNLOAD MODULE."""

    name: str
    load: bool
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class UnsupportedStatement(Statement):
    """A statement of Flink's that nothing here can carry out; running it says why."""

    feature: str
    because: str
