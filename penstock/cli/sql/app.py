"""From the command line to an exit code: 0 all ran, 1 a statement failed, 2 bad usage, 130 interrupted."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from penstock.cli.logs import show_log
from penstock.cli.sql.engine import Engine, runs_jobs
from penstock.cli.sql.options import RUNTIME_MODE, ClientOptions
from penstock.common.config_check import check_configuration
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError

if TYPE_CHECKING:
    from penstock.cli.sql.client import Client
    from penstock.cli.sql.output import Output

__all__ = [
    "EXIT_FAILED",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_USAGE",
    "Arguments",
    "read_settings",
    "run_client",
]

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Arguments:
    """What the user asked for."""

    execute: str | None = None
    file: str | None = None
    init: str | None = None
    define: Sequence[str] = ()
    mode: str | None = None
    gateway: str | None = None


def run_client(arguments: Arguments, output: Output | None = None, stdin: TextIO | None = None) -> int:
    """Runs the client until its script ends or the user leaves.

    Raises:
        ValidationError: The arguments mean nothing; the caller turns it into exit code 2.
    """
    script, source = _script(arguments, stdin or sys.stdin)
    init = _read_file(arguments.init) if arguments.init else None
    if arguments.gateway is not None:
        return _run_remote(arguments, script, source, init, output)
    properties = read_properties(arguments)
    show_log(Configuration.from_dict(properties))
    engine = Engine(properties)
    if script is None or runs_jobs(script):
        engine.start()  # before the imports, which take as long as half of Spark's start
    from penstock.cli.sql.client import Client
    from penstock.cli.sql.environment import check_statement, create_environment, switch_mode
    from penstock.cli.sql.output import Output

    output = output or Output()
    environment = create_environment(properties)
    client = Client(
        environment, output, properties, switch_mode, engine.ready, engine.cancelling, check_statement
    )
    try:
        if engine.has_options:  # they only count for a Spark that is not running yet
            engine.ready()
        return _run_session(client, arguments, script, source, init)
    except KeyboardInterrupt:
        output.warning(_what_ended(client))
        return EXIT_INTERRUPTED


def _run_remote(
    arguments: Arguments, script: str | None, source: str, init: str | None, output: Output | None
) -> int:
    """The client of a gateway: nothing runs here."""
    from penstock.cli.rest_token import TOKEN_FILE, rest_token
    from penstock.cli.sql.client import Client
    from penstock.cli.sql.gateway_calls import GatewayCalls
    from penstock.cli.sql.output import Output
    from penstock.cli.sql.remote import RemoteEnvironment

    properties = read_settings(arguments.define)
    show_log(Configuration.from_dict(properties))
    if arguments.mode is not None:
        properties[RUNTIME_MODE] = arguments.mode
    ClientOptions.read(properties)
    token = rest_token(properties.pop(TOKEN_FILE, None))  # a file of this machine: the gateway has its own
    output = output or Output()
    environment = RemoteEnvironment(GatewayCalls(arguments.gateway or "", properties, token))
    client = Client(environment, output, {}, lambda remote, streaming: None)
    try:
        return _run_session(client, arguments, script, source, init)
    except KeyboardInterrupt:
        output.warning("interrupted: the statement was cancelled; INSERT jobs go on at the gateway")
        return EXIT_INTERRUPTED
    finally:
        environment.close()


def _run_session(
    client: Client, arguments: Arguments, script: str | None, source: str, init: str | None
) -> int:
    if init is not None and not client.run_script(init, arguments.init or "", init=True):
        return EXIT_FAILED
    if script is not None:
        return run_batch(client, script, source)
    from penstock.cli.sql.repl import Repl

    return Repl(client).run()


def _what_ended(client: Client) -> str:
    jobs = client.background_jobs
    ended = f", and {jobs} INSERT job{'s' if jobs > 1 else ''} with it" if jobs else ""
    return f"interrupted: the statement was cancelled{ended}"


def run_batch(client: Client, script: str, source: str = "") -> int:
    """Runs a script to its end, its INSERT jobs included."""
    well = client.run_script(script, source)
    if not well:
        return EXIT_FAILED
    return EXIT_OK if client.finish(source) else EXIT_FAILED


def read_properties(arguments: Arguments) -> Mapping[str, str]:
    """`-D` and `--mode` as options; the mode is batch unless one of them says otherwise."""
    properties = {RUNTIME_MODE: "batch", **read_settings(arguments.define)}
    if arguments.mode is not None:
        properties[RUNTIME_MODE] = arguments.mode
    ClientOptions.read(properties)
    check_configuration(Configuration.from_dict(properties))
    return properties


def read_settings(define: Sequence[str]) -> dict[str, str]:
    """`-D key=value` options."""
    properties = {}
    for setting in define:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise ValidationError(f"'{setting}' is not of the form key=value", do="write -D key=value")
        properties[key.strip()] = value.strip()
    return properties


def _script(arguments: Arguments, stdin: TextIO) -> tuple[str | None, str]:
    """The script and its name; None where the user types."""
    if arguments.execute is not None and arguments.file is not None:
        raise ValidationError("-e and -f cannot both be given", do="put the statements into the file")
    if arguments.execute is not None:
        return arguments.execute, ""
    if arguments.file is not None and arguments.file != "-":
        return _read_file(arguments.file), arguments.file
    if arguments.file == "-" or not stdin.isatty():
        return stdin.read(), ""
    return None, ""


def _read_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValidationError(f"cannot read '{path}': {reason}", do="give the path of a SQL script") from None
