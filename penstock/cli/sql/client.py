"""A SQL session at work: runs statements one after the other and shows what each one gave.

`Client.run_script` stops at the first statement that fails; the prompt calls `run_piece` for each statement
and goes on. INSERTs of a streaming session run in the background, as in Flink, unless `table.dml-sync` is
true; `finish` waits for them, because their jobs live in this process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.cli.sql.failure import describe_failure, unclosed_quote
from penstock.cli.sql.keywords import COMMANDS
from penstock.cli.sql.kinds import StatementKind, kind_of
from penstock.cli.sql.options import ClientOptions
from penstock.cli.sql.output import Output, Progress
from penstock.cli.sql.rendering import ChangelogTable, Count, changelog_lines, row_count, table_lines
from penstock.cli.sql.runtime_places import placed
from penstock.cli.sql.script import Piece, split_script
from penstock.cli.sql.settings import apply_settings
from penstock.cli.sql.worker import Interrupted, Worker
from penstock.common.errors import ValidationError
from penstock.table.result_kind import ResultKind

__all__ = ["Client", "is_quit"]

_JOBS = (StatementKind.CHANGE, StatementKind.SET_END)
_FRAME_LINES = 6  # borders, head and spinner around the rows of a live table
_IN_INIT = (StatementKind.SETTING, StatementKind.DEFINITION)


def _nothing() -> None:
    pass


def _running() -> Progress:
    return Progress("running")


class Client:
    """One session.

    Args:
        environment: A `TableEnvironment`, or what behaves like one.
        defaults: Options that RESET goes back to: the mode and the `-D` properties.
        switch_mode: Moves the environment to streaming (True) or batch (False).
        prepare: Called in the worker before anything that needs Spark.
        cancelling: Called before a running statement is ended.
        check: Raises what is wrong with a statement; asked of writing ones before the first wait for Spark.
    """

    def __init__(
        self,
        environment: Any,
        output: Output,
        defaults: Mapping[str, str],
        switch_mode: Callable[[Any, bool], None],
        prepare: Callable[[], None] = _nothing,
        cancelling: Callable[[], None] = _nothing,
        check: Callable[[Any, str], None] = lambda environment, text: None,
    ) -> None:
        self.environment = environment
        self.output = output
        self._defaults = {key: value for key, value in defaults.items() if not key.startswith("spark.")}
        self._switch_mode = switch_mode
        self._prepare = prepare
        self._cancelling = cancelling
        self._check = check
        self._prepared = False
        self._worker = Worker()
        self._jobs: list[tuple[Piece, Any]] = []
        self._set_begun: Piece | None = None
        self._progress: Callable[[], Progress] = _running

    @property
    def options(self) -> ClientOptions:
        return ClientOptions.read(self._config())

    @property
    def background_jobs(self) -> int:
        """INSERTs that were started and not waited for."""
        return len(self._jobs)

    # -- scripts ---------------------------------------------------------------------------------------

    def run_script(self, script: str, source: str = "", *, init: bool = False) -> bool:
        """Runs the statements until one fails.

        Args:
            source: The file's name, for messages.
            init: Only statements that set the session up are allowed.

        Returns:
            Whether all went well.
        """
        for piece in split_script(script):
            if is_quit(piece):
                break
            if not self.run_piece(piece, source=source, init=init):
                return False
        if self._set_begun is not None:
            error = ValidationError("the statement set is never ended", do="write END; after its last INSERT")
            self._show_failure(error, self._set_begun, True, source)
            return False
        return True

    def finish(self, source: str = "") -> bool:
        """Waits for the INSERTs that still run; whether all of them went well."""
        well = True
        jobs, self._jobs = self._jobs, []
        for piece, result in jobs:
            try:
                self._in_worker(result.wait, lambda: Progress(f"waiting for {len(jobs)} INSERT jobs"))
            except Exception as error:
                self._show_failure(error, piece, True, source)
                well = False
        return well

    # -- one statement ---------------------------------------------------------------------------------

    def run_piece(
        self, piece: Piece, *, source: str = "", init: bool = False, in_script: bool = True
    ) -> bool:
        """Runs a statement and shows its result, or its error; whether it went well.

        Raises:
            KeyboardInterrupt: The user pressed Ctrl-C; the statement has been cancelled.
        """
        try:
            if piece.open_quote is not None:
                raise unclosed_quote(piece)
            kind = kind_of(piece.text)
            if init and kind not in _IN_INIT:
                raise ValidationError(
                    "this statement cannot stand in an init script",
                    do="keep to SET, RESET, CREATE, ALTER, DROP, USE and LOAD there; use -f for the rest",
                )
            if self._command(piece):
                return True
            self._progress = _running
            self._in_worker(lambda: self._run(piece, kind), lambda: self._progress())
            return True
        except Exception as error:
            self._show_failure(error, piece, in_script, source)
            return False

    def _command(self, piece: Piece) -> bool:
        """HELP and CLEAR, which are the client's own."""
        word = piece.text.upper()
        if word == "HELP":
            width = max(map(len, COMMANDS))
            self.output.lines(f"{name.ljust(width)}  {text}" for name, text in COMMANDS.items())
        elif word == "CLEAR":
            self.output.clear()
        return word in ("HELP", "CLEAR")

    def _in_worker(self, action: Callable[[], Any], view: Callable[[], Progress]) -> Any:
        task = self._worker.start(action)
        try:
            self.output.wait(task.wait, view)
        except KeyboardInterrupt:
            self._cancelling()
            self._worker.cancel(task)
            raise
        return task.result()

    def _run(self, piece: Piece, kind: StatementKind) -> None:
        started = time.monotonic()
        options = self.options
        if kind in _JOBS:
            if not self._prepared:  # Spark may still be on its way, and a mistake is known without it
                self._check(self.environment, piece.text)
            self._start_engine()
        before = self._config() if kind is StatementKind.SETTING else {}
        result = self.environment.execute_sql(piece.text)
        if kind is StatementKind.SETTING:
            apply_settings(self.environment, before, self._defaults, self._switch_mode)
        self._track_set(piece, kind)
        if result.get_result_kind() == ResultKind.SUCCESS:
            self.output.info("Execute statement succeeded.")
        elif kind is StatementKind.QUERY or getattr(result, "is_query", False):
            self._start_engine()
            self._show_query(result, options, started)
        elif kind in _JOBS:
            self._show_job(piece, result, options, started)
        elif kind is StatementKind.TEXT:
            self.output.lines(str(row[0]) for row in _rows(result))
        else:  # ids and paths to copy: only rows of queries are cut to the width of columns, as in Flink
            self._show_rows(result, _rows(result), replace(options, max_column_width=sys.maxsize), None)

    def _start_engine(self) -> None:
        """Only the first statement waits here; what it is said to have taken is what the user waited for."""
        self._progress = lambda: Progress("starting Spark")
        self._prepare()
        self._prepared = True
        self._progress = _running

    def _track_set(self, piece: Piece, kind: StatementKind) -> None:
        if kind is StatementKind.SET_BEGIN:
            self._set_begun = piece
        elif kind is StatementKind.SET_END:
            self._set_begun = None

    # -- results ---------------------------------------------------------------------------------------

    def _show_query(self, result: Any, options: ClientOptions, started: float) -> None:
        if options.result_mode == "changelog" or (options.streaming and options.result_mode == "tableau"):
            count = Count()
            self.output.lines(changelog_lines(result.get_resolved_schema(), _rows(result), options, count))
            self._show_count(count, options, started)
        elif options.streaming:
            self._show_live_table(result, options, started)
        else:
            self._show_rows(result, _rows(result), options, started)

    def _show_live_table(self, result: Any, options: ClientOptions, started: float) -> None:
        """The table as it changes; when the query ends or is cancelled, the table as it is then."""
        table = ChangelogTable()
        schema = result.get_resolved_schema()

        def view() -> Progress:
            rows = table.rows()[: max(1, self.output.height - _FRAME_LINES)]
            return Progress("running", list(table_lines(schema, rows, options, Count())))

        self._progress = view
        try:
            for row in _rows(result):
                table.apply(row)
        except Interrupted:
            self._show_rows(result, iter(table.rows()), options, started)
            raise
        finally:
            self._progress = _running
        self._show_rows(result, iter(table.rows()), options, started)

    def _show_rows(
        self, result: Any, rows: Iterator[Any], options: ClientOptions, started: float | None
    ) -> None:
        count = Count()
        self.output.lines(table_lines(result.get_resolved_schema(), rows, options, count))
        self._show_count(count, options, started)

    def _show_count(self, count: Count, options: ClientOptions, started: float | None) -> None:
        timed = started is not None and options.print_time_cost
        self.output.line(row_count(count.rows, time.monotonic() - (started or 0) if timed else None))
        if count.cut:
            self.output.warning(
                f"only the first {count.rows} rows are shown; 'sql-client.execution.max-table-result.rows' "
                "sets how many"
            )

    def _show_job(self, piece: Piece, result: Any, options: ClientOptions, started: float) -> None:
        remote = getattr(result, "remote_job_id", None)
        if remote is not None and not options.dml_sync:
            self.output.info(f"SQL update statement has been successfully submitted to the cluster: {remote}")
            return
        if options.streaming and not options.dml_sync:
            self._jobs.append((piece, result))
            self.output.info("SQL update statement has been successfully submitted.")
            return
        result.wait()
        cost = f" ({time.monotonic() - started:.2f} s)" if options.print_time_cost else ""
        self.output.info(f"Complete execution of the SQL update statement{cost}.")

    def _show_failure(self, error: Exception, piece: Piece, in_script: bool, source: str) -> None:
        try:
            verbose = self.options.verbose
        except ValidationError:
            verbose = False
        told = placed(error, piece.text)
        self.output.error(describe_failure(told, piece, verbose=verbose, in_script=in_script, source=source))

    # -- settings --------------------------------------------------------------------------------------

    def _config(self) -> dict[str, str]:
        config: dict[str, str] = self.environment.get_config().to_map()
        return config


def is_quit(piece: Piece) -> bool:
    return piece.text.upper() in ("QUIT", "EXIT")


def _rows(result: Any) -> Iterator[Any]:
    """The rows; leaving early, also by Ctrl-C, ends the job that makes them."""
    with result.collect() as rows:
        yield from rows
