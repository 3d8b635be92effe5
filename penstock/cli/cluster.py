"""`penstock cluster start|stop|status`: a session, and programs for it; `penstock config`; `penstock history`."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.jobs import AsJson, Define
from penstock.cli.logs import FORMAT, set_levels
from penstock.cli.tables import print_table
from penstock.common.config_check import check_configuration, check_values, keys_of_programs, mistyped_keys
from penstock.common.config_files import load_configuration
from penstock.common.configuration import Configuration
from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.common.options import option_of
from penstock.common.secrets import masked

if TYPE_CHECKING:
    from penstock.cli.rest_client import RestClient

__all__ = ["app", "config", "history", "submit_to_session"]

app = typer.Typer(help="A session: one driver that takes many programs.", no_args_is_help=True)
_START_SECONDS = 300.0
_STOP_SECONDS = 120.0
_SHOWN_LINES = 10
EXIT_NONE = 3
"""What `status` leaves with if no session runs."""


@app.command()
def start(
    define: Define = None,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay, instead of going to the background.")
    ] = False,
    web: Annotated[bool, typer.Option("--submit/--no-submit", help="Take programs over REST.")] = False,
) -> None:
    """Starts a session; programs that ran when the last one ended are started again."""
    from penstock.rest.session.cluster import default_folder, read_description

    settings = [*(define or ()), *(["web.submit.enable=true"] if web else [])]
    configuration = load_configuration(settings).configuration()
    check_configuration(configuration)
    if foreground:
        _serve(configuration)
        return
    folder = default_folder(configuration)
    known = read_description(folder)
    if known is not None:
        raise ValidationError(f"a session runs already, at {known['url']}", where=folder)
    os.makedirs(os.path.join(folder, "logs"), mode=0o700, exist_ok=True)
    log = os.path.join(folder, "logs", "session.log")
    words = [sys.executable, "-m", "penstock.cli.main", "cluster", "start", "--foreground"]
    words += [word for setting in settings for word in ("-D", setting)]
    with open(log, "ab") as file:
        begin = file.tell()
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    url = _wait_until_up(process, folder, log, begin)
    typer.echo(f"Session started: {url}")


def _wait_until_up(process: subprocess.Popen[bytes], folder: str, log: str, begin: int) -> str:
    """Where the session is, when it is up; what it writes before stands in the log from byte `begin` on."""
    from penstock.rest.session.cluster import read_description

    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        known = read_description(folder)
        if known is not None and known["pid"] == process.pid:
            return str(known["url"])
        if process.poll() is not None:
            with open(log, "rb") as file:
                file.seek(begin)
                last = file.read().decode("utf-8", "replace").splitlines()[-_SHOWN_LINES:]
            why = ":\n" + "\n".join(last) if last else ", and did not say why"
            raise ExternalSystemError(f"the session did not start{why}", where=log)
        time.sleep(0.1)
    raise ExternalSystemError(f"the session is not up after {_START_SECONDS:.0f} s", where=log)


def _serve(configuration: Configuration) -> None:
    from penstock.gateway import GatewayService, gateway_routes
    from penstock.rest.session.cluster import Session, default_folder
    from penstock.rest.session.spark import forget_spark_jobs, start_spark

    logging.basicConfig(level=logging.INFO, format=FORMAT)
    set_levels(configuration)
    gateway = GatewayService(configuration.to_dict())
    folder, routes = default_folder(configuration), gateway_routes(gateway)
    try:
        session = Session(
            configuration, folder, start_spark, forget_spark_jobs, routes, gateway.close
        ).start()
        session.end_on_signals()
        session.wait()
    finally:
        gateway.close()


@app.command()
def stop(
    define: Define = None,
    cancel_jobs: Annotated[
        bool, typer.Option("--cancel-jobs", help="Cancel jobs; else the next session goes on with them.")
    ] = False,
) -> None:
    """Ends the session."""
    from penstock.rest.session.cluster import default_folder
    from penstock.rest.session.own_jobs import left_behind

    configuration = load_configuration(define or ()).configuration()
    known = _known(configuration)
    if known is None:
        typer.echo("No session runs.", err=True)
        raise typer.Exit(EXIT_NONE)
    if cancel_jobs:
        _client(configuration, known["url"]).send("DELETE", "/cluster")
    else:
        os.kill(int(known["pid"]), signal.SIGTERM)
    until = time.monotonic() + _STOP_SECONDS
    while _lives(int(known["pid"])):
        if time.monotonic() > until:
            raise ExternalSystemError(f"the session (process {known['pid']}) does not end")
        time.sleep(0.1)
    for line in left_behind(default_folder(configuration)):
        typer.echo(line)
    typer.echo("Session ended.")


@app.command()
def status(define: Define = None, as_json: AsJson = False) -> None:
    """Says where the session is and what it does."""
    configuration = load_configuration(define or ()).configuration()
    known = _known(configuration)
    if known is None:
        typer.echo("{}" if as_json else "No session runs.")
        raise typer.Exit(EXIT_NONE)
    overview = _client(configuration, known["url"]).get("/overview")
    if as_json:
        typer.echo(json.dumps({"url": known["url"], "pid": known["pid"], **overview}, indent=2))
        return
    typer.echo(f"{known['url']} (process {known['pid']})")
    typer.echo(
        f"{overview['jobs-running']} jobs running, {overview['jobs-finished']} finished, "
        f"{overview['jobs-cancelled']} cancelled, {overview['jobs-failed']} failed; "
        f"{overview['slots-total']} slots on {overview['taskmanagers']} executors"
    )


def _known(configuration: Configuration) -> dict[str, Any] | None:
    from penstock.rest.session.cluster import default_folder, read_description

    return read_description(default_folder(configuration))


def _client(configuration: Configuration, address: str | None) -> RestClient:
    from penstock.cli.rest_client import find_server

    return find_server(configuration, address)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def submit_to_session(
    program: str, arguments: Sequence[str], settings: Sequence[str], server: str | None
) -> str:
    """Gives a program to a session and returns the id of its first job.

    Without `server` it is the session of this user, which is told the program's path; else the program is uploaded.
    """
    loaded = load_configuration(settings)
    check_configuration(loaded.configuration())
    if not os.path.isfile(program):
        raise ValidationError(f"there is no program '{program}'", where=f"looked in {os.getcwd()}")
    known = None if server else _known(loaded.configuration())
    if known is None:
        client = _client(loaded.configuration(), server)
        body = {"programArgsList": list(arguments), "flinkConfiguration": loaded.values}
        return str(client.send("POST", f"/jars/{client.upload(program)}/run", body)["jobid"])
    from penstock.rest.session.channel import Channel

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(known["socket"])
    channel = Channel(connection, lambda question, fields: None).start()
    try:
        answer = channel.ask(
            "submit",
            path=os.path.abspath(program),
            arguments=list(arguments),
            settings=loaded.values,
            folder=os.getcwd(),
        )
    finally:
        channel.close()
    return str(answer)


def config(
    define: Define = None,
    folder: Annotated[str | None, typer.Option("-c", "--conf-dir", help="Folder with a config.yaml.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prints the configuration that programs start with, and where each value comes from."""
    loaded = load_configuration(define or (), folder)
    shown = masked(loaded.values)
    rows = [(key, shown[key], loaded.origins[key]) for key in sorted(shown)]
    if as_json:
        entries = [{"key": k, "value": v, "origin": o, "known": option_of(k) is not None} for k, v, o in rows]
        typer.echo(json.dumps(entries, indent=2))
    elif rows:
        print_table(("Key", "Value", "Origin"), rows)
    else:
        typer.echo("Nothing is configured: every option has its default.")
    for warning in mistyped_keys(loaded.configuration()):
        typer.echo(warning, err=True)
    for key in keys_of_programs(loaded.configuration()):
        typer.echo(
            f"configuration key '{key}' is no option of Flink's or penstock's: only a program can read it",
            err=True,
        )
    check_values(loaded.configuration())


def history(
    directory: Annotated[
        str | None, typer.Argument(help="Folder of archives; jobmanager.archive.fs.dir unless given.")
    ] = None,
    define: Define = None,
) -> None:
    """Serves archives of finished jobs, ours or Flink's, until it is interrupted."""
    from penstock.rest.history import HistoryServer

    configuration = load_configuration(define or ()).configuration()
    server = HistoryServer(configuration, directory).start()
    typer.echo(f"History server: {server.url}")
    try:
        server.wait()
    finally:
        server.stop()
