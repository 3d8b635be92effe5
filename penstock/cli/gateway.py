"""`penstock gateway start`."""

from __future__ import annotations

import functools
from typing import Annotated

import typer

from penstock.cli.logs import show_log
from penstock.cli.sql.app import read_settings
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError

app = typer.Typer(help="The SQL gateway: Flink's clients connect to it.", no_args_is_help=True)
EXIT_USAGE = 2


@app.callback()
def _group() -> None:
    """The SQL gateway: Flink's clients connect to it."""


@app.command()
def start(
    define: Annotated[
        list[str] | None, typer.Option("-D", help="key=value: an option of the gateway and its sessions.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="Default 8083; 0 is any free one.")] = None,
) -> None:
    """Serves Flink's SQL gateway REST interface until it is interrupted."""
    from penstock.gateway.server import GatewayServer
    from penstock.gateway.service import start_spark

    try:
        properties = read_settings(define or ())
        show_log(Configuration.from_dict(properties))
        if port is not None:
            properties["sql-gateway.endpoint.rest.port"] = str(port)
        spark = {key: value for key, value in properties.items() if key.startswith("spark.")}
        server = GatewayServer(properties, functools.partial(start_spark, spark))
    except ValidationError as error:
        typer.echo(f"penstock gateway: {error}", err=True)
        raise typer.Exit(EXIT_USAGE) from None
    typer.echo(f"SQL gateway at {server.url}  (Ctrl-C stops it)")
    server.run()
    typer.echo("SQL gateway stopped; its sessions are closed and their queries cancelled")
