"""`penstock sql --check-upgrade old.sql new.sql`: which operators keep their state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from penstock.cli.sql.options import RUNTIME_MODE
from penstock.cli.sql.script import split_script
from penstock.common.errors import PenstockError, ValidationError

if TYPE_CHECKING:
    from penstock.sql.compiled.upgrade import JobVerdict, PlannedJob
    from penstock.sql.plan.algebra import InsertInto

EXIT_LOSES = 1


def check_upgrade(old: str, new: str, properties: Mapping[str, str], as_json: bool = False) -> int:
    """Compares two scripts; the exit code is 0 if all state is kept, 1 if some is lost.

    Raises:
        ValidationError: A script has a statement that cannot be planned, or no INSERT.
    """
    from penstock.sql.compiled.upgrade import compare_jobs

    verdicts = compare_jobs(_jobs(old, properties), _jobs(new, properties))
    if as_json:
        typer.echo(json.dumps([asdict(verdict) for verdict in verdicts], indent=2, ensure_ascii=False))
    else:
        for line in _lines(verdicts):
            typer.echo(line)
    return EXIT_LOSES if any(verdict.loses for verdict in verdicts) else 0


def _jobs(path: str, properties: Mapping[str, str]) -> list[PlannedJob]:
    from penstock.sql.compiled.upgrade import planned_job

    try:
        with open(path, encoding="utf-8-sig") as file:
            script = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValidationError(f"cannot read '{path}': {reason}", do="give the path of a SQL script") from None
    jobs = [planned_job(config, sinks) for config, sinks in _inserts(script, path, properties)]
    if not jobs:
        raise ValidationError(f"there is no INSERT in '{path}'", do="give scripts that start jobs")
    return jobs


def _inserts(
    script: str, path: str, properties: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, str], list[InsertInto]]]:
    """The sinks of each job, and the options that hold when it starts. DDL and SET run in a session of its own."""
    from penstock.cli.sql.environment import create_environment, switch_mode
    from penstock.sql.dialect import statements as st
    from penstock.sql.operations.dml import plan_insert

    environment = create_environment({**properties, RUNTIME_MODE: "streaming"})
    switch_mode(environment, True)
    session = environment._session
    together: list[InsertInto] | None = None
    for piece in split_script(script):
        try:
            statement = session.parse(piece.text)
            if isinstance(statement, st.QueryStatement):
                continue
            if isinstance(statement, st.BeginStatementSetStatement):
                together = []
            elif isinstance(statement, st.EndStatementSetStatement) and together is not None:
                yield dict(session.config), together
                together = None
            elif isinstance(statement, st.InsertStatement):
                sink = plan_insert(session, statement)
                if together is None:
                    yield dict(session.config), [sink]
                else:
                    together.append(sink)
            elif isinstance(statement, st.StatementSetStatement):
                yield dict(session.config), [plan_insert(session, insert) for insert in statement.inserts]
            else:
                session.run(statement)
        except PenstockError as error:
            error.where = f"{path}, line {piece.line}" + (f"; {error.where}" if error.where else "")
            raise


def _lines(verdicts: list[JobVerdict]) -> Iterator[str]:
    for job in verdicts:
        yield f"job into {job.job}" + (f": {job.note}" if job.note else "")
        for verdict in job.operators:
            reason = f": {verdict.reason}" if verdict.reason else ""
            yield f"  {verdict.outcome:<13} {verdict.description}{reason}"
            yield f"  {'':<13} uid {verdict.uid}"
    lost = sum(v.outcome == "loses" for job in verdicts for v in job.operators)
    if lost:
        yield f"{lost} operators lose their state; start the new job with -n, or -D"
        yield "execution.state-recovery.ignore-unclaimed-state=true, if that is what you want"
    else:
        yield "all state is kept"
