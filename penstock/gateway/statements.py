"""How the gateway runs a statement: the SQL client's environment and rules, with results that are fetched later.

SELECT       a job whose rows are fetched while it runs; closing the operation ends it
INSERT       a job that goes on by itself, in batch mode too; the result is its id
everything   is done when the operation is FINISHED
else
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.catalog.resolved_schema import PhysicalColumn, ResolvedSchema
from penstock.cli.sql.completion import Names, suggest
from penstock.cli.sql.environment import batch_insert, create_environment, derived_environment, switch_mode
from penstock.cli.sql.kinds import StatementKind, kind_of
from penstock.cli.sql.settings import apply_settings
from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.common.types import Row
from penstock.gateway.operation import Cancelled, Operation
from penstock.gateway.result_pages import ResultPages
from penstock.runtime.spark.action_job import ActionJob
from penstock.sql.result import ok
from penstock.sql.streaming.collecting import raise_failure
from penstock.table import TableEnvironment
from penstock.table.result_kind import ResultKind
from penstock.table.table_result import TableResult

__all__ = ["StatementRunner"]

_JOBS = (StatementKind.CHANGE, StatementKind.SET_END)
_CONFIGURING = (StatementKind.SETTING, StatementKind.DEFINITION)
_DML_SYNC = "table.dml-sync"
_POLL_SECONDS = 0.05


class StatementRunner:
    """One session's environment. Statements come one after the other, each from some worker's thread.

    Args:
        defaults: The options that the session begins with and that RESET goes back to.
        prepare: Called before anything that needs Spark.
    """

    def __init__(self, defaults: Mapping[str, str], prepare: Callable[[], None]) -> None:
        self.environment = create_environment(defaults)
        self._defaults = dict(defaults)
        self._prepare = prepare

    @property
    def options(self) -> dict[str, str]:
        """The session's configuration as it is now."""
        return self.environment.get_config().to_map()

    @property
    def zone(self) -> str:
        return self.environment.get_config().get_local_timezone()

    # -- what clients ask for --------------------------------------------------------------------------------

    def execute(self, text: str, options: Mapping[str, str], operation: Operation) -> ResultPages:
        """Runs a statement, with these options for it alone."""
        kind = kind_of(text)
        self._check_set(kind)
        if kind is StatementKind.SETTING:
            return self._set(text)
        if kind is StatementKind.SET_END and not self.environment._session.pending_inserts:
            return self._end_of_nothing()
        if kind is StatementKind.QUERY:
            return self._query(self._environment(options), text, operation)
        if kind in _JOBS and not self._gathers(kind):
            return self._change(text, kind, options, operation)
        own = kind is StatementKind.SET_BEGIN or self._gathers(kind)
        return _pages((self.environment if own else self._environment(options)).execute_sql(text))

    def configure(self, text: str) -> None:
        """Runs a statement that sets the session up.

        Raises:
            ValidationError: It is another kind of statement.
        """
        kind = kind_of(text)
        if kind is StatementKind.OTHER:
            self.environment._session.parse(text)  # a text that cannot be read tells why
        if kind not in _CONFIGURING:
            raise ValidationError(
                f"Unsupported statement for configuring session: {text}",
                do="the session is configured with SET, RESET, CREATE, ALTER, DROP, USE, LOAD and UNLOAD",
            )
        if kind is StatementKind.SETTING:
            self._set(text)
        else:
            self.environment.execute_sql(text)

    def complete(self, text: str, position: int) -> list[str]:
        """What could stand at the cursor."""
        names = Names(self.environment)
        return [found.text for found in suggest(text[:position], names, text)]

    # -- kinds of statements ---------------------------------------------------------------------------------

    def _check_set(self, kind: StatementKind) -> None:
        pending = self.environment._session.pending_inserts
        if pending is not None and kind not in _JOBS:
            raise ValidationError(
                "Only 'INSERT/CREATE TABLE AS' statement is allowed in Statement Set or use 'END' statement to "
                "submit Statement Set."
            )
        if pending is None and kind is StatementKind.SET_END:
            raise ValidationError(
                "No Statement Set to submit. 'END' statement should be used after 'BEGIN STATEMENT SET'."
            )

    def _gathers(self, kind: StatementKind) -> bool:
        """Whether an INSERT only joins the open statement set."""
        return kind is StatementKind.CHANGE and self.environment._session.pending_inserts is not None

    def _set(self, text: str) -> ResultPages:
        before = self.options
        result = self.environment.execute_sql(text)
        apply_settings(self.environment, before, self._defaults, switch_mode)
        return _pages(result)

    def _end_of_nothing(self) -> ResultPages:
        self.environment._session.pending_inserts = None
        return _pages(TableResult(ok()))

    def _environment(self, options: Mapping[str, str]) -> TableEnvironment:
        return derived_environment(self.environment, options) if options else self.environment

    def _query(self, environment: TableEnvironment, text: str, operation: Operation) -> ResultPages:
        result = environment.execute_sql(text)
        self._prepare()
        job: Any
        rows: Callable[[], Iterator[Row]]
        if environment._session.streaming:
            found = result.collect()
            job, rows = found.job, lambda: found
        else:
            job = ActionJob("collect", result.collect).start()
            rows = job.result
        pages = ResultPages(result.get_resolved_schema(), is_query=True, job_id=job.job_id)
        pages.read_from(rows, lambda: _cancel(job))
        return pages

    def _change(
        self, text: str, kind: StatementKind, options: Mapping[str, str], operation: Operation
    ) -> ResultPages:
        environment = derived_environment(self.environment, {**options, _DML_SYNC: "false"})
        if kind is StatementKind.SET_END:
            self.environment._session.pending_inserts = None
        sync = {**self.options, **options}.get(_DML_SYNC, "false").lower() == "true"
        planned = batch_insert(environment, text)
        self._prepare()
        if planned is not None:
            job: Any = ActionJob(*planned).start()
        elif environment._session.streaming:
            result = environment.execute_sql(text)
            job = result.get_running_job()
            if job is None:
                return _pages(result)
        else:
            return self._run_change(environment, text, operation)
        if sync:
            _wait(job, operation)
        return _job_id(job.job_id)

    def _run_change(self, environment: TableEnvironment, text: str, operation: Operation) -> ResultPages:
        """A batch statement that is done when the operation is: UPDATE, CREATE TABLE AS and the like."""
        name = environment.get_config().get("pipeline.name", "change")
        job = ActionJob(name, lambda: environment.execute_sql(text)).start()
        operation.cancellable(lambda: _cancel(job))
        result: TableResult = job.result()
        return _pages(result) if result.get_result_kind() == ResultKind.SUCCESS else _job_id(job.job_id)


def _pages(result: TableResult) -> ResultPages:
    """A result that is there."""
    with result.collect() as rows:
        return ResultPages(
            result.get_resolved_schema(),
            list(rows),
            success_only=result.get_result_kind() == ResultKind.SUCCESS,
        )


def _job_id(job_id: str) -> ResultPages:
    schema = ResolvedSchema([PhysicalColumn("job id", DataTypes.STRING())])
    return ResultPages(schema, [Row(job_id)], job_id=job_id)


def _wait(job: Any, operation: Operation) -> None:
    """For the end of an INSERT's job; whoever cancels the operation cancels the job."""
    operation.cancellable(lambda: _cancel(job))
    while not job.has_ended:
        job.wait(_POLL_SECONDS) if isinstance(job, ActionJob) else _pause(job)
    if operation.cancelled:
        raise Cancelled
    if isinstance(job, ActionJob):
        job.result()
    else:
        raise_failure(job)


def _pause(job: Any) -> None:
    try:
        job.wait(_POLL_SECONDS)
    except Exception:  # it has ended, or has not: the loop looks itself
        return


def _cancel(job: Any) -> None:
    if not job.has_ended:
        job.cancel()
