"""Command lines and exit codes; only the last test starts Spark."""

from __future__ import annotations

import io
import pathlib
import re

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.cli.sql.app import Arguments, read_properties, run_client
from penstock.cli.sql.engine import Engine
from penstock.cli.sql.output import Output
from penstock.common.errors import ValidationError


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["sql", *arguments], input=stdin)
    return result.exit_code, result.stdout, result.stderr


def test_statements_of_the_command_line_run() -> None:
    code, out, _ = run("-e", "CREATE TABLE t (a INT) WITH ('connector' = 'print'); SHOW TABLES")
    assert code == 0
    assert out.splitlines() == [
        "[INFO] Execute statement succeeded.",
        "+------------+",
        "| table name |",
        "+------------+",
        "|          t |",
        "+------------+",
        "1 row in set",
    ]


def test_a_failed_statement_gives_exit_code_1_and_its_place() -> None:
    code, out, err = run("-e", "SHOW CATALOGS;\nDROP TABLE gone;\nSHOW CATALOGS")
    assert code == 1
    assert out.count("default_catalog") == 1
    assert err.startswith("[ERROR] statement 2, line 2: ")


INSERT = """
CREATE TABLE t (id INT, name STRING) WITH ('connector' = 'datagen');
CREATE TABLE s (id INT, name STRING) WITH ('connector' = 'print');
"""
TYPES = "column types of query result and sink for 'default_catalog.default_database.s' do not match: "
SCHEMA = "\n         sink schema:  [id: INT, name: STRING]\n"


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize(
    "insert, message",
    [
        ("INSERT INTO ss SELECT id, name FROM t", "object 'ss' not found\n  do: did you mean `s`?\n"),
        (
            "INSERT INTO s SELECT id FROM t",
            f"{TYPES}different number of columns, the query has 1 and the sink takes 2\n"
            f"  where: query schema: [id: INT]{SCHEMA}"
            "  do: select a value for each column, or name those that get one: INSERT INTO t (a, b) SELECT …\n",
        ),
        (
            "INSERT INTO s SELECT name, id FROM t",
            f"{TYPES}incompatible types for sink column 'id', STRING cannot be stored as INT\n"
            f"  where: query schema: [name: STRING, id: INT]{SCHEMA}  do: CAST the value to INT\n",
        ),
        (
            "INSERT INTO s SELECT id, nam FROM t",
            "column 'nam' not found in any table\n  4 | INSERT INTO s SELECT id, nam FROM t\n"
            "    |                          ^^^\n  do: did you mean `name`?\n",
        ),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO s (id, nam) SELECT id, name FROM t; END",
            "unknown target column 'nam'\n  do: did you mean `name`?\n",
        ),
    ],
)
def test_mistakes_of_an_insert_are_told_before_spark_runs(
    monkeypatch: pytest.MonkeyPatch, mode: str, insert: str, message: str
) -> None:
    monkeypatch.setattr(Engine, "ready", lambda engine: pytest.fail("waits for Spark"))
    monkeypatch.setattr(Engine, "start", lambda engine: None)
    code, _, err = run("--mode", mode, "-e", INSERT + insert)
    assert (code, err) == (1, f"[ERROR] statement 3, line 4: {message}")


def test_a_script_file_is_named_in_the_error(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "job.sql"
    script.write_text("-- a comment\nSELEC 1;")
    code, _, err = run("-f", str(script))
    assert code == 1
    assert err.splitlines()[0].startswith(f"[ERROR] statement 1, line 2 of {script}: ")
    assert err.splitlines()[1:3] == ["  2 | SELEC 1", "    | ^^^^^"]


def test_a_pipe_is_a_script() -> None:
    assert run(stdin="SET 'a' = 'b'; SET;")[0] == 0
    assert run("-f", "-", stdin="NONSENSE;")[0] == 1


def test_the_init_script_runs_first(tmp_path: pathlib.Path) -> None:
    init = tmp_path / "init.sql"
    init.write_text("CREATE TABLE from_init (a INT) WITH ('connector' = 'print');")
    code, out, _ = run("-i", str(init), "-e", "SHOW TABLES")
    assert code == 0
    assert "from_init" in out
    init.write_text("SHOW TABLES;")
    code, _, err = run("-i", str(init), "-e", "SHOW TABLES")
    assert code == 1
    assert "cannot stand in an init script" in err


def test_properties_of_the_command_line_are_options_of_the_session() -> None:
    _, out, _ = run("-D", "pipeline.name=night run", "-D", "a=b=c", "-e", "SET")
    assert "night run" in out
    assert "b=c" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("-e", "SHOW TABLES", "-f", "x.sql"),
        ("-f", "there-is-no-such-file.sql"),
        ("-D", "no-equals-sign", "-e", "SHOW TABLES"),
        ("--mode", "sideways", "-e", "SHOW TABLES"),
        ("--no-such-option",),
    ],
)
def test_bad_usage_gives_exit_code_2(arguments: tuple[str, ...]) -> None:
    code, out, _ = run(*arguments)
    assert code == 2
    assert "table name" not in out


def test_the_mode_is_batch_unless_somebody_says_otherwise() -> None:
    key = "execution.runtime-mode"
    assert read_properties(Arguments())[key] == "batch"
    assert read_properties(Arguments(define=[f"{key}=streaming"]))[key] == "streaming"
    assert read_properties(Arguments(define=[f"{key}=batch"], mode="streaming"))[key] == "streaming"
    with pytest.raises(ValidationError):
        read_properties(Arguments(define=["sql-client.verbose=maybe"]))


def test_switching_modes_keeps_tables_and_options() -> None:
    script = """
        CREATE TEMPORARY TABLE t (a INT) WITH ('connector' = 'print');
        SET 'execution.runtime-mode' = 'streaming';
        SHOW TABLES;
        RESET 'execution.runtime-mode';
        SET;
    """
    out = io.StringIO()
    assert run_client(Arguments(execute=script), Output(out, out)) == 0
    assert "|          t |" in out.getvalue()
    assert re.search(r"\| execution.runtime-mode \| +batch \|", out.getvalue(), re.I)


def test_ctrl_c_in_a_script_gives_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.sql.output.Output.wait", interrupted)
    code, _, err = run("-e", "SHOW TABLES")
    assert code == 130
    assert "interrupted" in err


@pytest.mark.spark
def test_a_query_of_the_command_line_runs_on_spark() -> None:
    code, out, err = run(
        "-e",
        """CREATE TABLE orders (item STRING, price INT) WITH (
             'connector' = 'datagen', 'number-of-rows' = '100', 'fields.price.min' = '4', 'fields.price.max' = '4');
           SELECT price, COUNT(*) AS n FROM orders GROUP BY price ORDER BY price;
           SELECT CAST(item AS INT) FROM orders""",
    )
    assert "|     4 | 100 |" in out.splitlines()
    assert re.search(r"1 row in \d+\.\d\d s", out)
    assert (code, err.split(":")[0]) == (1, "[ERROR] statement 3, line 4")
