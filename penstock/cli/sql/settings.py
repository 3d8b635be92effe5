"""SET and RESET in a session: defaults come back, what makes no sense is undone, the mode follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.cli.sql.options import RUNTIME_MODE, ClientOptions
from penstock.common.errors import ValidationError

__all__ = ["apply_settings"]


def apply_settings(
    environment: Any,
    before: Mapping[str, str],
    defaults: Mapping[str, str],
    switch_mode: Callable[[Any, bool], None],
) -> None:
    """What follows from a SET or RESET that has just run.

    Args:
        before: The options as they were before it.
        defaults: What RESET goes back to.
        switch_mode: Moves the environment to streaming (True) or batch (False).

    Raises:
        ValidationError: An option has a value that means nothing; the options are as before.
    """
    config = environment.get_config()
    now = config.to_map()
    for key, value in defaults.items():
        if key not in now:
            config.set(key, value)
    try:
        options = ClientOptions.read(config.to_map())
    except ValidationError:
        _restore(environment, before)
        raise
    if RUNTIME_MODE in config.to_map():
        switch_mode(environment, options.streaming)


def _restore(environment: Any, before: Mapping[str, str]) -> None:
    configuration = environment.get_config().get_configuration()
    for key in set(environment.get_config().to_map()) - set(before):
        configuration.remove_config(key)
    for key, value in before.items():
        configuration.set_string(key, value)
