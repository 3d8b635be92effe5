"""Flink's verbs for jobs that run elsewhere: list, info, cancel, stop, savepoint, checkpoint.

They speak REST, so they work against a session, a program with `--web`, and against Flink itself.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.define import define_option
from penstock.cli.tables import print_table
from penstock.common.config_check import tell_mistyped_keys
from penstock.common.config_files import load_configuration

if TYPE_CHECKING:
    from penstock.cli.rest_client import RestClient

__all__ = ["register"]

Server = Annotated[str | None, typer.Option("-m", "--jobmanager", help="host:port of the server.")]
Define = Annotated[list[str] | None, define_option("key=value: configuration.")]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts.")]
Job = Annotated[str, typer.Argument(help="The job's id.")]
_WAITING = ("CREATED", "INITIALIZING", "RESTARTING", "RECONCILING", "SUSPENDED")
_ENDED = ("FINISHED", "CANCELED", "FAILED")


def _client(server: str | None, define: Sequence[str] | None) -> RestClient:
    from penstock.cli.rest_client import find_server

    configuration = load_configuration(define or ()).configuration()
    tell_mistyped_keys(configuration)
    return find_server(configuration, server)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


def list_jobs(
    all_jobs: Annotated[bool, typer.Option("-a", "--all", help="Ended jobs, too.")] = False,
    running: Annotated[bool, typer.Option("-r", "--running", help="Running jobs only.")] = False,
    scheduled: Annotated[bool, typer.Option("-s", "--scheduled", help="Waiting jobs only.")] = False,
    server: Server = None,
    define: Define = None,
    as_json: AsJson = False,
) -> None:
    """Lists jobs with their states."""
    found = _client(server, define).get("/jobs/overview")["jobs"]
    wanted = [job for job in found if _is_wanted(job["state"], all_jobs, running, scheduled)]
    wanted.sort(key=lambda job: job["start-time"])
    if as_json:
        _print_json(wanted)
        return
    if not wanted:
        typer.echo("No jobs." if all_jobs else "No running jobs.")
        return
    rows = [
        (job["jid"], job["name"], job["state"], _moment(job["start-time"]), _length(job)) for job in wanted
    ]
    print_table(("Job ID", "Name", "State", "Started", "Duration"), rows)


def _is_wanted(state: str, all_jobs: bool, running: bool, scheduled: bool) -> bool:
    if all_jobs:
        return True
    if running == scheduled:
        return state not in _ENDED
    return (state in _WAITING) == scheduled and state not in _ENDED


def info(job: Job, server: Server = None, define: Define = None, as_json: AsJson = False) -> None:
    """Shows a job: its state, its vertices, its last checkpoint."""
    client = _client(server, define)
    details = client.get(f"/jobs/{job}")
    checkpoints = client.get(f"/jobs/{job}/checkpoints")
    if as_json:
        _print_json({"job": details, "checkpoints": checkpoints})
        return
    typer.echo(f"{details['name']} ({details['jid']})")
    typer.echo(f"{details['state']}, started {_moment(details['start-time'])}, {_length(details)}")
    counts, latest = checkpoints["counts"], checkpoints["latest"]["completed"]
    typer.echo(f"{counts['completed']} checkpoints completed, {counts['failed']} failed")
    if latest is not None:
        typer.echo(f"last: {latest['id']}, {latest['state_size']} bytes of state, {latest['external_path']}")
    rows = [
        (
            v["name"],
            v["parallelism"],
            v["status"],
            v["metrics"]["read-records"],
            v["metrics"]["write-records"],
        )
        for v in details["vertices"]
    ]
    print_table(("Vertex", "Parallelism", "State", "Records in", "Records out"), rows)


def cancel(
    job: Job,
    with_savepoint: Annotated[
        str | None,
        typer.Option(
            "-s", "--withSavepoint", help="Take a savepoint there first ('' for the configured folder)."
        ),
    ] = None,
    server: Server = None,
    define: Define = None,
    as_json: AsJson = False,
) -> None:
    """Cancels a job."""
    client = _client(server, define)
    if with_savepoint is None:
        client.send("PATCH", f"/jobs/{job}?mode=cancel")
        told, data = f"Cancelled job {job}.", {"jobid": job}
    else:
        body = {"cancel-job": True, "target-directory": with_savepoint or None}
        path = _triggered(client, job, "savepoints", body)
        told = f"Cancelled job {job}. Savepoint stored in {path}."
        data = {"jobid": job, "location": path}
    if as_json:
        _print_json(data)
    else:
        typer.echo(told)


def stop(
    job: Job,
    path: Annotated[
        str | None, typer.Option("-p", "--savepointPath", help="Where the savepoint goes.")
    ] = None,
    drain: Annotated[
        bool, typer.Option("-d", "--drain", help="Let event time run to its end first.")
    ] = False,
    server: Server = None,
    define: Define = None,
    as_json: AsJson = False,
) -> None:
    """Takes a savepoint and stops a job there."""
    client = _client(server, define)
    where = _triggered(client, job, "stop", {"drain": drain, "targetDirectory": path})
    _tell_savepoint(where, as_json)


def savepoint(
    job: Annotated[str | None, typer.Argument(help="The job's id.")] = None,
    directory: Annotated[str | None, typer.Argument(help="Where the savepoint goes.")] = None,
    dispose: Annotated[
        str | None, typer.Option("-d", "--dispose", help="Delete the savepoint at this path instead.")
    ] = None,
    server: Server = None,
    define: Define = None,
    as_json: AsJson = False,
) -> None:
    """Takes a savepoint of a job that goes on, or deletes one."""
    client = _client(server, define)
    if dispose is not None:
        trigger = client.send("POST", "/savepoint-disposal", {"savepoint-path": dispose})["request-id"]
        client.finish(f"/savepoint-disposal/{trigger}")
        typer.echo(f"Savepoint '{dispose}' disposed.")
        return
    if job is None:
        raise typer.BadParameter("a job, or -d with the path of a savepoint")
    body = {"cancel-job": False, "target-directory": directory}
    _tell_savepoint(_triggered(client, job, "savepoints", body), as_json)


def checkpoint(job: Job, server: Server = None, define: Define = None, as_json: AsJson = False) -> None:
    """Makes sure that everything a job has done until now is in a checkpoint."""
    client = _client(server, define)
    trigger = client.send("POST", f"/jobs/{job}/checkpoints", {})["request-id"]
    number = client.finish(f"/jobs/{job}/checkpoints/{trigger}")["checkpointId"]
    if as_json:
        _print_json({"checkpointId": number})
    else:
        typer.echo(f"Checkpoint {number} completed.")


def _triggered(client: RestClient, job: str, what: str, body: dict[str, Any]) -> str:
    given = {key: value for key, value in body.items() if value is not None}
    trigger = client.send("POST", f"/jobs/{job}/{what}", given)["request-id"]
    return str(client.finish(f"/jobs/{job}/savepoints/{trigger}")["location"])


def _tell_savepoint(path: str, as_json: bool) -> None:
    if as_json:
        _print_json({"location": path})
    else:
        typer.echo(f"Savepoint completed. Path: {path}")


def _moment(milliseconds: int) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d %H:%M:%S")


def _length(job: dict[str, Any]) -> str:
    return str(datetime.timedelta(seconds=max(0, int(job["duration"])) // 1000))


def register(app: typer.Typer) -> None:
    """Adds the verbs to the command line."""
    app.command("list")(list_jobs)
    for command in (info, cancel, stop, savepoint, checkpoint):
        app.command()(command)
