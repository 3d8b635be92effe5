"""COMPILE PLAN and EXECUTE PLAN: plans in files."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING

from penstock.sql.dialect import statements as st
from penstock.sql.operations.dml import plan_insert
from penstock.sql.result import StatementResult, ok
from penstock.util.exceptions import TableException

if TYPE_CHECKING:
    from penstock.sql.compiled.plan import StoredPlan
    from penstock.sql.session import SqlSession

FORCE_RECOMPILE = "table.plan.force-recompile"


def compile_statement(session: SqlSession, statement: st.CompilePlanStatement) -> StatementResult:
    """Writes the plan. With AND EXECUTE a plan that is there already is run instead, as in Flink."""
    file = local_path(statement.file)
    exists = file.exists() and not _recompiles(session)
    if exists and statement.execute:
        return read_plan(session, file).execute()
    if exists and statement.if_not_exists:
        return ok()
    if exists:
        raise overwrites(file)
    plan = _compiled(session, statement.inserts, statement.text)
    write_plan(session, plan, file)
    return plan.execute() if statement.execute else ok()


def execute_statement(session: SqlSession, statement: st.ExecutePlanStatement) -> StatementResult:
    return read_plan(session, local_path(statement.file)).execute()


def compiled_statement(session: SqlSession, sql: str) -> StoredPlan:
    """The plan of an INSERT or a statement set.

    Raises:
        TableException: It is another statement.
    """
    statement = session.parse(sql)
    if isinstance(statement, st.InsertStatement):
        return _compiled(session, (statement,), sql)
    if isinstance(statement, st.StatementSetStatement):
        return _compiled(session, statement.inserts, sql)
    raise TableException("unsupported SQL query: only an INSERT or a statement set can be compiled")


def _compiled(session: SqlSession, inserts: tuple[st.InsertStatement, ...], text: str) -> StoredPlan:
    from penstock.sql.compiled.plan import compile_plan

    return compile_plan(session, [plan_insert(session, i) for i in inserts], [text])


# -- files -------------------------------------------------------------------------------------------------


def read_plan(session: SqlSession, file: pathlib.Path) -> StoredPlan:
    """The plan of a file."""
    from penstock.sql.compiled.plan import load_plan

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TableException(f"cannot load plan from file '{file}': {error}") from error
    return load_plan(session, text, f"plan from file '{file}'")


def write_plan(
    session: SqlSession, plan: StoredPlan, file: pathlib.Path, ignore_if_exists: bool = False
) -> None:
    """Writes a plan aside and renames it: whoever reads the file finds all of it.

    Raises:
        TableException: There is a file already, or it cannot be written.
    """
    if file.exists() and not _recompiles(session):
        if ignore_if_exists:
            return
        raise overwrites(file)
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(plan.as_json() + "\n", encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        raise TableException(f"cannot write the plan to file '{file}': {error}") from error


def local_path(file: str | pathlib.Path) -> pathlib.Path:
    return pathlib.Path(str(file).removeprefix("file://"))


def overwrites(file: pathlib.Path) -> TableException:
    return TableException(
        f"cannot overwrite the plan file '{file}'",
        do=f"remove the file, or set '{FORCE_RECOMPILE}' to 'true' while you try things out",
    )


def _recompiles(session: SqlSession) -> bool:
    return session.config.get(FORCE_RECOMPILE, "false").lower() == "true"
