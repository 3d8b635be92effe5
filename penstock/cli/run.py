"""Runs a user's program as `python program.py` would, with `pyflink` standing for penstock."""

from __future__ import annotations

import contextlib
import logging
import os
import runpy
import sys
from collections.abc import Iterator, Sequence

from penstock.cli.logs import show_log
from penstock.cli.program_errors import program_errors
from penstock.common.config_check import check_configuration
from penstock.common.config_files import load_configuration
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError


def run_program(
    program: str,
    arguments: Sequence[str],
    settings: Sequence[str] = (),
    files: str | None = None,
    start_early: bool = True,
) -> None:
    """Runs the file under the name `__main__`.

    Args:
        program: Path of a Python file.
        arguments: What it finds in `sys.argv[1:]`.
        settings: `key=value` pairs that every environment of the program starts from.
        files: What the program may import, as `-pyfs` gives it.
        start_early: Spark may come up while the program is imported.

    Raises:
        ValidationError: There is no such file, or a setting is not of the form key=value.
    """
    if not os.path.isfile(program):
        raise ValidationError(
            f"there is no program '{program}'",
            where=f"looked in {os.getcwd()}",
            do="give the path of a Python file",
        )
    if start_early:
        _start_spark(program, settings)
    prepare(settings, files)
    folder = os.path.dirname(os.path.abspath(program))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.argv = [program, *arguments]
    with program_errors():
        runpy.run_path(program, run_name="__main__")


def run_module(
    module: str, arguments: Sequence[str], settings: Sequence[str] = (), files: str | None = None
) -> None:
    """Runs a module as `python -m` would; it is looked for among `files` first."""
    prepare(settings, files)
    sys.argv = [module, *arguments]
    with program_errors():
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def _start_spark(program: str, settings: Sequence[str]) -> None:
    """Lets Spark come up while the program is imported, unless the program may bring its own session."""
    with open(program, "rb") as file:
        uses_spark = b"pyspark" in file.read()
    given = _configuration(settings).to_dict()
    if not uses_spark and not any(key.startswith("python.") for key in given):
        from penstock.runtime.spark.session import start_early

        start_early({key: str(value) for key, value in given.items() if key.startswith("spark.")})


@contextlib.contextmanager
def served(settings: Sequence[str], web: bool) -> Iterator[None]:
    """Opens the REST interface for as long as a program runs, if `--web` or a port on the command line asks for it.

    A port in a configuration file does not: the file may be that of a server which runs already.
    """
    asked = any(setting.startswith(("rest.port=", "rest.bind-port=")) for setting in settings)
    if not web and not asked:
        yield
        return
    configuration = _configuration(settings)
    from penstock.rest.server import JobServer, make_context

    server = JobServer(make_context(configuration)).start()
    sys.stderr.write(f"REST interface and dashboard: {server.url}\n")
    try:
        yield
    finally:
        server.stop()


def prepare(settings: Sequence[str], files: str | None = None) -> None:
    """What environments start from, what can be imported, and `pyflink` as another name of penstock."""
    from penstock.datastream.context import set_context_configuration
    from penstock.runtime.compat import install_pyflink_alias

    configuration = _configuration(settings)
    set_context_configuration(configuration)
    show_log(configuration)
    _show_restores()
    install_pyflink_alias()
    paths = [os.path.abspath(path.strip()) for path in (files or "").split(",") if path.strip()]
    for path in paths:
        place = os.path.dirname(path) if path.endswith(".py") else path
        if place not in sys.path:
            sys.path.insert(0, place)


def _show_restores() -> None:
    """On a terminal it is said where jobs go on from, unless the program's own logging is there to say it."""
    logger = logging.getLogger("penstock.runtime.restoring")
    if not sys.stderr.isatty() or logger.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: not logging.getLogger().handlers)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def dependency_settings(
    files: str | None, archives: str | None, requirements: str | None, executable: str | None
) -> list[str]:
    """The options of `-pyfs`, `-pyarch`, `-pyreq` and `-pyexec` as configuration.

    >>> dependency_settings("a.py,b.zip", None, "r.txt", None)
    ['python.files=a.py,b.zip', 'python.requirements=r.txt']
    """
    given = {"files": files, "archives": archives, "requirements": requirements, "executable": executable}
    return [f"python.{key}={value}" for key, value in given.items() if value]


def restore_settings(path: str | None, allow_non_restored: bool, mode: str | None) -> list[str]:
    """The options of `-s`, `-n` and `-rm` as configuration.

    >>> restore_settings("/sp", True, "claim")[1:]
    ['execution.state-recovery.ignore-unclaimed-state=true', 'execution.state-recovery.claim-mode=CLAIM']
    """
    settings = [] if path is None else [f"execution.state-recovery.path={path}"]
    if allow_non_restored:
        settings.append("execution.state-recovery.ignore-unclaimed-state=true")
    if mode is not None:
        settings.append(f"execution.state-recovery.claim-mode={mode.upper()}")
    return settings


def _configuration(settings: Sequence[str]) -> Configuration:
    """Files, environment variables, and what the command line says over them."""
    configuration = load_configuration(settings).configuration()
    check_configuration(configuration)
    return configuration
