"""`%%flink_sql`: a cell of statements, each shown as what it is: a table that changes, a text, a job, OK."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from penstock.cli.sql.kinds import StatementKind, kind_of
from penstock.cli.sql.script import split_script
from penstock.common.errors import PenstockError
from penstock.notebook.live import in_worker
from penstock.notebook.results import show_query
from penstock.table import EnvironmentSettings, TableEnvironment

__all__ = ["FlinkSqlMagics"]

_NAME = "t_env"


@magics_class
class FlinkSqlMagics(Magics):
    """The magic of `%load_ext penstock`."""

    @magic_arguments()
    @argument(
        "-e", "--env", default=_NAME, help="the TableEnvironment; t_env, made for streaming if there is none"
    )
    @argument("-o", "--out", help="a variable for the rows of the last query, as a pandas frame")
    @argument("-n", "--rows", type=int, default=20, help="so many rows are shown")
    @argument("-l", "--limit", type=int, help="cancel a query after so many changes")
    @argument("-c", "--changelog", action="store_true", help="show changes rather than the table they make")
    @argument("-p", "--plot", metavar="LABEL,NUMBER", help="draw a column as bars over another")
    @argument("-w", "--wait", action="store_true", help="wait for the jobs of INSERTs")
    @cell_magic
    def flink_sql(self, line: str, cell: str) -> None:
        """Runs statements of Flink SQL, separated by semicolons.

        A streaming query updates its table until it ends; interrupting the cell cancels it. INSERT starts a job and
        goes on: SHOW JOBS lists jobs, STOP JOB ends one.
        """
        options = parse_argstring(self.flink_sql, line)
        environment = self._environment(options.env)
        for piece in split_script(cell):
            if piece.open_quote is not None:
                raise UsageError(f"line {piece.line}: a quote or comment is not closed")
            try:
                self._run(environment, piece.text, options)
            except (
                PenstockError
            ) as error:  # what went wrong is in its text; our own frames are of no use to readers
                raise error.with_traceback(None) from None

    @property
    def _names(self) -> dict[str, Any]:
        """The user's variables."""
        assert self.shell is not None, "magics are registered with a shell"
        names: dict[str, Any] = self.shell.user_ns
        return names

    def _environment(self, name: str) -> TableEnvironment:
        found = self._names.get(name)
        if found is None and name == _NAME:
            found = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
            self._names[name] = found
        if not isinstance(found, TableEnvironment):
            raise UsageError(f"there is no TableEnvironment called '{name}'")
        return found

    def _run(self, environment: TableEnvironment, text: str, options: Any) -> None:
        kind = kind_of(text)
        result = in_worker(lambda: environment.execute_sql(text))
        if kind is StatementKind.QUERY:
            frame = show_query(result, options.rows, options.limit, options.changelog, options.plot)
            if options.out:
                self._names[options.out] = frame
        elif kind is StatementKind.CHANGE:
            self._job(result, options.wait)
        elif kind is StatementKind.TEXT:
            self._say("\n".join(in_worker(lambda: [str(row[0]) for row in result.collect()])))
        else:
            self._rows(result, options.rows)

    def _job(self, result: Any, wait: bool) -> None:
        job = result.get_running_job()
        if job is None or wait:
            in_worker(result.wait)
            self._say("done")
        else:
            self._say(f"job {job.job_id} is running: {job.job_name}")

    def _rows(self, result: Any, rows: int) -> None:
        from penstock.table.result_kind import ResultKind

        if result.get_result_kind() == ResultKind.SUCCESS:
            self._say("OK")
        else:
            show_query(result, rows)

    def _say(self, text: str) -> None:
        from IPython.display import display

        display({"text/plain": text}, raw=True)
