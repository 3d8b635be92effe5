"""Everything that `penstock` can do on a command line; files beside this one have the verbs for servers."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from penstock import __version__
from penstock.cli.cluster import app as cluster_app
from penstock.cli.cluster import config, history, submit_to_session
from penstock.cli.define import define_option
from penstock.cli.gateway import app as gateway_app
from penstock.cli.jobs import register as register_jobs
from penstock.cli.replay import replay
from penstock.cli.state import app as state_app
from penstock.common.errors import PenstockError, ValidationError

app = typer.Typer(
    name="penstock",
    help="Apache Flink's programming model in Python, run by Apache Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(state_app, name="state")
app.add_typer(cluster_app, name="cluster")
register_jobs(app)
app.command()(config)
app.command()(history)
app.add_typer(gateway_app, name="gateway")
app.command("replay")(replay)

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


@app.command(context_settings=_PASS_ON)
def run(
    context: typer.Context,
    program: Annotated[
        str | None, typer.Argument(help="A Python program that uses pyflink or penstock.")
    ] = None,
    define: Annotated[
        list[str] | None,
        define_option("key=value: configuration of the environments that the program makes."),
    ] = None,
    from_savepoint: Annotated[
        str | None, typer.Option("-s", "--from-savepoint", help="Start from this savepoint or checkpoint.")
    ] = None,
    allow_non_restored: Annotated[
        bool,
        typer.Option(
            "-n",
            "--allow-non-restored-state",
            "--allowNonRestoredState",
            help="State of operators that the program does not have any more may be dropped.",
        ),
    ] = False,
    restore_mode: Annotated[
        str | None,
        typer.Option(
            "-rm",
            "--restore-mode",
            "--restoreMode",
            "--claimMode",
            help="CLAIM: the job owns the savepoint and deletes it in the end. NO_CLAIM (default): it never does.",
        ),
    ] = None,
    parallelism: Annotated[int | None, typer.Option("-p", "--parallelism", min=1)] = None,
    files: Annotated[
        str | None, typer.Option("-pyfs", "--pyFiles", help="Python files, folders and zips, with commas.")
    ] = None,
    archives: Annotated[
        str | None, typer.Option("-pyarch", "--pyArchives", help="Archives to unpack: path or path#folder.")
    ] = None,
    requirements: Annotated[
        str | None, typer.Option("-pyreq", "--pyRequirements", help="requirements.txt, or file#downloads.")
    ] = None,
    executable: Annotated[
        str | None, typer.Option("-pyexec", "--pyExecutable", help="The Python that runs functions.")
    ] = None,
    module: Annotated[
        str | None, typer.Option("-pym", "--pyModule", help="Run this module of -pyfs instead of a file.")
    ] = None,
    web: Annotated[
        bool,
        typer.Option("--web", help="Serve Flink's REST interface and the dashboard while the program runs."),
    ] = False,
    detached: Annotated[
        bool,
        typer.Option("-d", "--detached", help="Give the program to a session (penstock cluster) and leave."),
    ] = False,
    server: Annotated[
        str | None, typer.Option("-m", "--jobmanager", help="With -d: host:port of the session's server.")
    ] = None,
    conf_dir: Annotated[
        str | None, typer.Option("-c", "--conf-dir", help="Folder with a config.yaml.")
    ] = None,
) -> None:
    """Runs PROGRAM with the rest of the line as its arguments; `import pyflink` gives penstock there."""
    from penstock.cli.run import dependency_settings, restore_settings, run_module, run_program, served

    settings = [*(define or []), *dependency_settings(files, archives, requirements, executable)]
    settings += restore_settings(from_savepoint, allow_non_restored, restore_mode)
    if parallelism:
        settings.append(f"parallelism.default={parallelism}")
    if module is None and program is None:
        raise typer.BadParameter("a program, or -pym with a module")
    if conf_dir is not None:
        os.environ["PENSTOCK_CONF_DIR"] = conf_dir
    if detached:
        if program is None or module is not None:
            raise typer.BadParameter("-d takes the path of a program")
        job_id = submit_to_session(program, context.args, settings, server)
        typer.echo(f"Job has been submitted with JobID {job_id}")
        return
    with served(settings, web):
        if module is not None:
            run_module(module, [*([program] if program else []), *context.args], settings, files)
        else:
            run_program(str(program), context.args, settings, files)


@app.command()
def sql(
    execute: Annotated[str | None, typer.Option("-e", "--execute", help="Run these statements.")] = None,
    file: Annotated[
        str | None, typer.Option("-f", "--file", help="Run this script; '-' reads standard input.")
    ] = None,
    init: Annotated[
        str | None, typer.Option("-i", "--init", help="Run this script first: SET, CREATE, USE and the like.")
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", help="key=value: an option of the session.")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="batch (default) or streaming.")] = None,
    gateway: Annotated[
        str | None,
        typer.Option("--gateway", metavar="URL", help="Run statements at this SQL gateway, Flink's or ours."),
    ] = None,
    upgrade: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--check-upgrade",
            metavar="OLD.SQL NEW.SQL",
            help="Say which operators of the new script keep the state of the old one's; nothing runs.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --check-upgrade: for scripts.")] = False,
) -> None:
    """Flink SQL: statements from the command line, a script, a pipe, or typed at a prompt."""
    from penstock.cli.sql.app import EXIT_USAGE, Arguments, read_properties, run_client

    arguments = Arguments(execute, file, init, tuple(define or ()), mode, gateway)
    try:
        if upgrade is not None:
            from penstock.cli.sql.upgrade import check_upgrade

            raise typer.Exit(check_upgrade(*upgrade, read_properties(arguments), as_json))
        code = run_client(arguments)
    except ValidationError as error:
        typer.echo(f"penstock sql: {error}", err=True)
        code = EXIT_USAGE
    raise typer.Exit(code)


@app.command()
def shell(
    define: Annotated[
        list[str] | None, define_option("key=value: configuration of the environments.")
    ] = None,
    parallelism: Annotated[int | None, typer.Option("-p", "--parallelism", min=1)] = None,
    ipython: Annotated[
        bool | None, typer.Option("--ipython/--no-ipython", help="Default: IPython where it is installed.")
    ] = None,
) -> None:
    """A Python prompt with s_env and st_env ready; `import pyflink` gives penstock there."""
    from penstock.cli.shell import run_shell

    settings = list(define or [])
    if parallelism:
        settings.append(f"parallelism.default={parallelism}")
    run_shell(settings, ipython)


@app.command()
def version() -> None:
    """Prints the versions of penstock, Spark and Python."""
    import pyspark

    typer.echo(f"penstock {__version__}, Spark {pyspark.__version__}, Python {sys.version.split()[0]}")


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions and leave."),
    ] = False,
) -> None:
    """Apache Flink's programming model in Python, run by Apache Spark."""


def main() -> None:
    """Entry point: errors of ours are shown as text, not as tracebacks of penstock's own frames."""
    try:
        app()
    except PenstockError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
