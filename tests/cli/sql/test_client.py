"""The session: order, results, failures, settings."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cli.sql.script import Piece
from penstock.common.errors import SqlError, UserFunctionError, ValidationError
from penstock.common.types import Row, RowKind
from penstock.sql.result import StatementResult, strings
from tests.cli.sql.stand_in import Session, numbers


def without_time(line: str) -> str:
    return line.split(" in ")[0]


def test_a_query_is_shown_as_a_table_with_rows_and_time() -> None:
    session = Session({"SELECT": numbers(Row(1, "bolt"), Row(20, None))})
    assert session.run("SELECT id, name FROM t;")
    *table, last = session.shown
    assert table == [
        "+----+--------+",
        "| id |   name |",
        "+----+--------+",
        "|  1 |   bolt |",
        "| 20 | <NULL> |",
        "+----+--------+",
    ]
    assert last.startswith("2 rows in ") and last.endswith(" s")


def test_statements_without_rows_say_that_they_succeeded() -> None:
    session = Session()
    assert session.run("CREATE VIEW v AS SELECT 1; USE CATALOG c;")
    assert session.shown == ["[INFO] Execute statement succeeded."] * 2


def test_nothing_runs_after_the_statement_that_failed() -> None:
    session = Session({"DROP": ValidationError("there is no table 'x'", do="SHOW TABLES lists them")})
    assert not session.run("USE CATALOG c;\n\nDROP TABLE x;\nUSE CATALOG d;")
    assert session.environment.executed == ["USE CATALOG c", "DROP TABLE x"]
    assert session.errors == [
        "[ERROR] statement 2, line 3: there is no table 'x'",
        "  do: SHOW TABLES lists them",
    ]


def test_the_place_of_an_error_is_underlined_in_the_scripts_own_lines() -> None:
    text = "SELECT a,\n  bee FROM t"
    session = Session({"SELECT": SqlError("column 'bee' not found", sql=text, line=2, column=3, length=3)})
    assert not session.run("USE CATALOG c;\n" + text + ";", source="job.sql")
    assert session.errors == [
        "[ERROR] statement 2, line 3 of job.sql: column 'bee' not found",
        "  3 |   bee FROM t",
        "    |   ^^^",
    ]


def test_an_error_on_the_first_line_is_underlined_behind_the_statement_before() -> None:
    text = "SELECT bee"
    session = Session({"SELECT": SqlError("no 'bee'", sql=text, line=1, column=8, length=3)})
    session.run("USE CATALOG c; " + text)
    assert session.errors[2].index("^") == session.errors[1].index("bee")


def test_an_error_inside_a_view_is_not_underlined_in_the_query() -> None:
    error = SqlError("no 'x'", sql="SELECT x FROM gone", line=1, column=8)
    session = Session({"SELECT": error})
    session.run("SELECT * FROM v")
    assert "  where: line 1, column 8" in session.errors
    assert "    SELECT x FROM gone" in session.errors


def test_a_quote_left_open_fails_before_anything_is_asked() -> None:
    session = Session()
    assert not session.run("SELECT 'abc")
    assert session.errors[0] == "[ERROR] statement 1, line 1: the quote ' is never closed"
    assert session.environment.executed == []


def test_a_users_traceback_is_shown() -> None:
    error = UserFunctionError("function 'f' failed", user_traceback="Traceback\nZeroDivisionError: x")
    session = Session({"SELECT": error})
    session.run("SELECT f(1)")
    assert session.errors[1:] == ["  Traceback", "  ZeroDivisionError: x"]


@pytest.mark.parametrize(("verbose", "traces"), [("true", True), ("false", False)])
def test_stack_traces_are_shown_when_verbose(verbose: str, traces: bool) -> None:
    session = Session({"SELECT": RuntimeError("boom")})
    session.run(f"SET 'sql-client.verbose' = '{verbose}'; SELECT 1")
    assert any("Traceback" in line for line in session.errors) is traces
    assert session.errors[0] == "[ERROR] statement 2, line 1: RuntimeError: boom"


def test_explain_and_show_create_are_shown_as_they_are() -> None:
    session = Session({"EXPLAIN|SHOW CREATE": lambda _: strings("result", ["line 1\n  line 2"])})
    assert session.run("EXPLAIN SELECT 1; SHOW CREATE TABLE t")
    assert session.shown == ["line 1", "  line 2"] * 2


def test_show_has_a_row_count_without_time() -> None:
    session = Session({"SHOW": lambda _: strings("table name", ["a"])})
    session.run("SHOW TABLES")
    assert session.shown[-1] == "1 row in set"
    assert session.prepared == 0


def test_only_queries_and_inserts_need_spark() -> None:
    session = Session({"SELECT": lambda _: numbers()})
    session.run("SHOW TABLES; CREATE VIEW v AS SELECT 1; SELECT 1")
    assert session.prepared == 1


# -- result modes --------------------------------------------------------------------------------------

CHANGES = (
    Row.of_kind(RowKind.INSERT, 1, "a"),
    Row.of_kind(RowKind.UPDATE_BEFORE, 1, "a"),
    Row.of_kind(RowKind.UPDATE_AFTER, 1, "b"),
    Row.of_kind(RowKind.INSERT, 2, "c"),
)


@pytest.mark.parametrize(("runtime", "mode"), [("batch", "changelog"), ("streaming", "tableau")])
def test_a_changelog_shows_what_every_row_does(runtime: str, mode: str) -> None:
    session = Session({"SELECT": numbers(*CHANGES)})
    session.run(
        f"SET 'execution.runtime-mode' = '{runtime}'; SET 'sql-client.execution.result-mode' = '{mode}'; SELECT 1"
    )
    ops = [line[2:4] for line in session.shown if line.startswith("|")]
    assert ops == ["op", "+I", "-U", "+U", "+I"]
    assert without_time(session.shown[-1]) == "4 rows"


def test_table_mode_shows_what_a_changelog_leaves() -> None:
    session = Session({"SELECT": numbers(*CHANGES)})
    session.run(
        "SET 'execution.runtime-mode' = 'streaming'; SET 'sql-client.execution.result-mode' = 'table'; SELECT 1"
    )
    assert session.shown[2:-1] == [
        "+----+------+",
        "| id | name |",
        "+----+------+",
        "|  1 |    b |",
        "|  2 |    c |",
        "+----+------+",
    ]


def test_rows_above_the_limit_are_left_out_and_the_reader_is_told() -> None:
    session = Session({"SELECT": numbers(Row(1, "a"), Row(2, "b"), Row(3, "c"))})
    session.run("SET 'sql-client.execution.max-table-result.rows' = '2'; SELECT 1")
    assert without_time(session.shown[-1]) == "2 rows"
    assert session.errors[0].startswith("[WARNING] only the first 2 rows are shown")


def test_print_time_cost_can_be_turned_off() -> None:
    session = Session({"SELECT": numbers(Row(1, "a"))})
    session.run("SET 'sql-client.display.print-time-cost' = 'false'; SELECT 1")
    assert session.shown[-1] == "1 row in set"


# -- settings ------------------------------------------------------------------------------------------


def test_setting_the_runtime_mode_switches_the_environment() -> None:
    session = Session()
    session.run("SET 'execution.runtime-mode' = 'STREAMING'")
    assert session.environment.streaming
    session.run("RESET")
    assert not session.environment.streaming


def test_an_option_that_means_nothing_is_refused_and_undone() -> None:
    session = Session({"SELECT": numbers(Row(1, "a"))})
    assert not session.run("SET 'sql-client.execution.result-mode' = 'pretty'")
    assert "use one of tableau, table, changelog" in session.errors[1]
    assert session.run("SELECT 1")


def test_reset_goes_back_to_the_command_lines_properties() -> None:
    session = Session(pipeline__name="from -D")
    session.run("SET 'pipeline.name' = 'x'; SET 'other' = 'y'; RESET")
    assert session.environment.config.to_map() == {
        "execution.runtime-mode": "batch",
        "pipeline.name": "from -D",
    }


# -- writing -------------------------------------------------------------------------------------------


def written(waited: list[Any], error: Exception | None = None) -> StatementResult:
    def wait(timeout_ms: int | None = None) -> None:
        waited.append("waited")
        if error is not None:
            raise error

    result = strings("default_catalog.default_database.t", ["-1"])
    result.details["wait"] = wait
    return result


def test_an_insert_in_batch_is_done_when_it_says_so() -> None:
    waited: list[Any] = []
    session = Session({"INSERT": lambda _: written(waited)})
    assert session.run("INSERT INTO t SELECT 1")
    assert waited == ["waited"]
    assert session.shown[0].startswith("[INFO] Complete execution of the SQL update statement")


def test_inserts_in_streaming_run_together_and_are_waited_for_at_the_end() -> None:
    waited: list[Any] = []
    session = Session({"INSERT": lambda _: written(waited)})
    session.run("SET 'execution.runtime-mode' = 'streaming'; INSERT INTO t SELECT 1; INSERT INTO u SELECT 1")
    assert (waited, session.client.background_jobs) == ([], 2)
    assert session.client.finish()
    assert len(waited) == 2


def test_dml_sync_waits_for_each_insert() -> None:
    waited: list[Any] = []
    session = Session({"INSERT": lambda _: written(waited)})
    session.run(
        "SET 'execution.runtime-mode' = 'streaming'; SET 'table.dml-sync' = 'true'; INSERT INTO t SELECT 1"
    )
    assert waited == ["waited"]


def test_an_insert_that_fails_in_the_background_is_named_at_the_end() -> None:
    session = Session({"INSERT": lambda _: written([], ValidationError("disk full"))})
    assert session.run("SET 'execution.runtime-mode' = 'streaming';\nINSERT INTO t SELECT 1")
    assert not session.client.finish()
    assert session.errors == ["[ERROR] statement 2, line 2: disk full"]


def test_a_statement_set_that_is_never_ended_is_an_error() -> None:
    session = Session()
    assert not session.run("BEGIN STATEMENT SET;\nINSERT INTO t SELECT 1;")
    assert session.errors[0] == "[ERROR] statement 1, line 1: the statement set is never ended"


def test_an_init_script_may_only_set_the_session_up() -> None:
    session = Session()
    assert session.run("SET 'a' = 'b'; CREATE TABLE t (a INT) WITH ('connector' = 'print')", init=True)
    assert not session.run("SELECT 1", init=True)
    assert session.environment.executed[-1].startswith("CREATE")
    assert session.errors[0] == "[ERROR] statement 1, line 1: this statement cannot stand in an init script"


def test_quit_ends_a_script_and_help_is_the_clients_own() -> None:
    session = Session()
    assert session.run("HELP; QUIT; SELECT 1")
    assert any(line.startswith("CLEAR") for line in session.shown)
    assert session.environment.executed == []


# -- Ctrl-C --------------------------------------------------------------------------------------------


@pytest.fixture
def heard_interrupts() -> Iterator[None]:
    """Python's own SIGINT handler: a process started in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_interrupts")
def test_ctrl_c_ends_the_statement_and_the_session_goes_on() -> None:
    running, left = threading.Event(), threading.Event()

    def endless() -> Iterator[Row]:
        try:
            while True:
                running.set()
                time.sleep(0.01)
        finally:
            left.set()
        yield Row(1, "never")

    endless_result = numbers()
    endless_result.rows = endless
    session = Session({"SELECT 1": endless_result, "SELECT 2": numbers(Row(2, "after"))})

    def press() -> None:
        assert running.wait(20)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        session.client.run_piece(Piece("SELECT 1"))
    assert left.wait(10), "the rows were not closed"
    assert session.client.run_piece(Piece("SELECT 2"))
    assert "|  2 | after |" in session.shown


def test_what_a_statement_answers_is_shown_whole_whatever_the_width_of_columns() -> None:
    path = "/savepoints/savepoint-388247-" + "c" * 60
    session = Session(
        {"STOP JOB": strings("savepoint path", [path]), "SHOW JOBS": strings("job id", ["a" * 32])}
    )
    session.run("SET 'sql-client.display.max-column-width' = '6'; STOP JOB 'a' WITH SAVEPOINT; SHOW JOBS")
    assert f"| {path} |" in session.shown and f"| {'a' * 32} |" in session.shown
