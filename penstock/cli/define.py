"""`-D key=value`, as all verbs have it."""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["define_option"]


def define_option(help: str) -> Any:
    """The option; what is not of the form key=value is wrong usage (exit code 2)."""
    return typer.Option("-D", help=help, callback=_checked)


def _checked(settings: list[str] | None) -> list[str] | None:
    for setting in settings or ():
        key, separator, _ = setting.partition("=")
        if not separator or not key.strip():
            raise typer.BadParameter(f"'{setting}' is not of the form key=value")
    return settings
