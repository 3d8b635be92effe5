"""Runs a newcomer's program or statements in this process and gives back what would be shown.

The jobs run on the real epoch loop with stages in this process, so forty mistakes take seconds; one that kills its
worker runs on Spark. A program is compiled under the name `job.py` and shown its errors as `penstock run` would show
them; statements as `penstock sql -f` would. In the options of a command TAKEN is a port that somebody listens on.
"""

from __future__ import annotations

import contextlib
import functools
import io
import linecache
import logging
import os
import pathlib
import re
import runpy
import socket
import sys
from collections.abc import Iterator
from unittest import mock

import penstock
from penstock.cli.main import main
from penstock.cli.program_errors import program_errors
from penstock.cli.sql.failure import describe_failure, unclosed_quote
from penstock.cli.sql.script import split_script
from penstock.common import Configuration, config_check
from penstock.common.errors import PenstockError
from penstock.datastream.context import set_context_configuration
from penstock.runtime import submit
from penstock.runtime.compat import install_pyflink_alias
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.table import EnvironmentSettings, TableEnvironment

PROGRAM = "job.py"
PACKAGE = pathlib.Path(penstock.__file__).parent


def shown_by_program(text: str, folder: pathlib.Path, on_spark: bool = False) -> str:
    """What a program writes to standard error, and its log of warnings."""
    with _surroundings(folder, on_spark) as errors:
        pathlib.Path(PROGRAM).write_text(text, encoding="utf-8")
        try:
            with program_errors():
                runpy.run_path(PROGRAM, run_name="__main__")
        except PenstockError as error:
            errors.write(f"{type(error).__name__}: {error}\n")
        except SystemExit:
            pass
    return _tidied(errors.getvalue(), folder)


def shown_by_command(options: str, text: str, folder: pathlib.Path) -> str:
    """What `penstock run` with these options shows for a program."""
    with _surroundings(folder) as errors, socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        pathlib.Path(PROGRAM).write_text(text, encoding="utf-8")
        arguments = ["penstock", "run", *options.replace("TAKEN", port).split(), PROGRAM]
        with mock.patch.object(sys, "argv", arguments), contextlib.suppress(SystemExit):
            main()
    return _tidied(errors.getvalue().replace(port, "TAKEN"), folder)


def shown_by_statements(script: str, folder: pathlib.Path, mode: str) -> str:
    """What the first statement that fails shows."""
    with _surroundings(folder) as errors:
        settings = (
            EnvironmentSettings.in_batch_mode()
            if mode == "batch"
            else EnvironmentSettings.in_streaming_mode()
        )
        environment = TableEnvironment.create(settings)
        for piece in split_script(script):
            try:
                if piece.open_quote is not None:
                    raise unclosed_quote(piece)
                result = environment.execute_sql(piece.text)
                if piece.text.lstrip().upper().startswith(("SELECT", "INSERT")):
                    list(result.collect())
            except Exception as error:
                errors.write(describe_failure(error, piece).plain + "\n")
                break
    return _tidied(errors.getvalue(), folder)


@contextlib.contextmanager
def _surroundings(folder: pathlib.Path, on_spark: bool = False) -> Iterator[io.StringIO]:
    """A folder to stand in, streams to write to, jobs in this process, and nothing that a case leaves behind."""
    errors, here, path = io.StringIO(), os.getcwd(), list(sys.path)
    handler = logging.StreamHandler(errors)
    handler.setLevel(logging.WARNING)
    run_here = functools.partial(submit.submit_job, make_runner=InProcessEpochs)
    install_pyflink_alias()
    with contextlib.ExitStack() as stack:
        if not on_spark:
            stack.enter_context(mock.patch.object(submit, "submit_job", run_here))
            stack.enter_context(mock.patch.object(jobs, "make_runner", InProcessEpochs))
        stack.enter_context(mock.patch.object(config_check, "_told", set()))
        stack.enter_context(mock.patch.object(sys, "excepthook", sys.__excepthook__))
        stack.enter_context(mock.patch.dict(sys.modules))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(errors))
        os.chdir(folder)
        pathlib.Path("lines.csv").write_text("1,pen\ntwo,ink\n")
        set_context_configuration(Configuration.from_dict({"parallelism.default": "1"}))
        logging.getLogger("penstock").addHandler(handler)
        try:
            yield errors
        finally:
            logging.getLogger("penstock").removeHandler(handler)
            os.chdir(here)
            sys.path[:] = path
            linecache.checkcache()
            set_context_configuration(None)


def _tidied(text: str, folder: pathlib.Path) -> str:
    """Without what differs from run to run and between versions of Python."""
    if "Traceback" in text or "SyntaxError" in text:
        text = re.sub(r"\n *[~^]+(?=\n)", "", text)  # marks below a line: not in all versions
    text = text.replace(str(folder), "FOLDER")
    text = text.replace(str(PACKAGE), "PENSTOCK")
    text = re.sub(r"127\.0\.0\.1:\d+|nc -lk \d+", lambda found: re.sub(r"\d+$", "PORT", found.group()), text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
