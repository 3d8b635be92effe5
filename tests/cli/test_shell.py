"""`penstock shell`: the names it binds, what is typed into it, how it is left."""

from __future__ import annotations

import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time
import types
from typing import Any

import pytest

from penstock.cli.shell import run_shell, shell_names
from penstock.table import Schema, StreamTableEnvironment

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "penstock.cli.main", "shell", "--no-ipython"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}


def typed(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *options], input=text, capture_output=True, text=True, env=environment(), timeout=200
    )


def test_the_names_of_pyflinks_shell_are_bound() -> None:
    names = shell_names()
    assert isinstance(names["st_env"], StreamTableEnvironment)
    assert names["st_env"]._stream_environment is names["s_env"]
    assert names["Schema"] is Schema
    wanted = {"Types", "Row", "KeyedProcessFunction", "TableDescriptor", "ObjectPath", "Tumble", "Counter"}
    assert wanted | {"Rowtime", "udf", "col"} <= set(names)


def test_the_module_gives_the_same_names_when_asked() -> None:
    from penstock import shell

    assert shell.st_env is shell.st_env
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        shell.nothing


def test_ipython_gets_the_names_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []
    fake = types.SimpleNamespace(start_ipython=lambda **given: started.append(given))
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setattr("penstock.cli.run.prepare", lambda settings: None)
    run_shell()
    [given] = started
    assert {"s_env", "st_env"} <= set(given["user_ns"])


def test_statements_are_run_and_errors_leave_the_prompt() -> None:
    script = (
        "print(s_env.get_parallelism(), type(st_env).__name__)\n"
        "import pyflink.table; print(pyflink.table.Schema is Schema)\n"
        "1 / 0\n"
        "def f(x):\n    return x + 1\n\n"
        "print(f(40), f.__module__)\n"
    )
    done = typed(script, "-p", "3")
    assert done.returncode == 0, done.stderr
    for line in ("3 StreamTableEnvironment", "True", "41 __main__"):
        assert line in done.stdout
    assert "ZeroDivisionError" in done.stderr
    assert "s_env    the StreamExecutionEnvironment" in done.stderr


def test_a_bad_setting_is_refused_before_the_prompt() -> None:
    done = typed("", "-D", "nonsense")
    assert done.returncode == 2
    assert "'nonsense' is not of the form key=value" in done.stderr


def read_until(fd: int, wanted: str, seconds: float = 120) -> str:
    seen, end = "", time.monotonic() + seconds
    while wanted not in seen:
        ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"waited for {wanted!r}, saw {seen!r}"
        seen += os.read(fd, 4096).decode(errors="replace")
    return seen


def test_ctrl_c_stops_the_statement_and_ctrl_d_leaves() -> None:
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests are started
        os.execve(sys.executable, COMMAND, environment())
    try:
        read_until(fd, ">>> ")
        os.write(fd, b"import time; print('going'); time.sleep(600)\n")
        read_until(fd, "going\r\n")
        os.write(fd, b"\x03")
        assert "KeyboardInterrupt" in read_until(fd, ">>> ")
        os.write(fd, b"print('still ' + 'here')\n")
        read_until(fd, "still here\r\n>>> ")
        os.write(fd, b"\x04")
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(fd)


@pytest.mark.spark
def test_functions_that_were_typed_run_in_workers() -> None:
    script = (
        "plus = udf(lambda v: v + 1, result_type=DataTypes.BIGINT())\n"
        "t = st_env.from_elements([(1,), (2,)], ['a'])\n"
        "print(sorted(r[0] for r in t.select(plus(col('a'))).execute().collect()))\n"
    )
    done = typed(script)
    assert "[2, 3]" in done.stdout, done.stderr
    assert done.returncode == 0
