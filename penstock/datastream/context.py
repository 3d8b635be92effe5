"""What every new environment starts with: settings from outside the program.

Whoever runs programs (the command line, a test runner) gives settings in one of two ways. The environment
variable PENSTOCK_PROPERTIES has lines of `key: value`, as a configuration file has them, and reaches child
processes too; `set_context_configuration` is for the same process and wins.
"""

from __future__ import annotations

import os

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError

__all__ = ["context_configuration", "set_context_configuration"]

_VARIABLE = "PENSTOCK_PROPERTIES"
_from_caller = Configuration()


def set_context_configuration(configuration: Configuration | None) -> None:
    """Settings for all environments that are made from now on; None: none."""
    global _from_caller
    _from_caller = Configuration(configuration)


def context_configuration() -> Configuration:
    """A new configuration with everything that was given from outside."""
    return _from_variable(os.environ.get(_VARIABLE, "")).add_all(_from_caller)


def _from_variable(text: str) -> Configuration:
    configuration = Configuration()
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, separator, value = line.partition(":")
        if not separator:
            raise ValidationError(
                f"not a setting: {line!r}", where=f"environment variable {_VARIABLE}", do="write key: value"
            )
        configuration.set_string(key.strip(), value.strip())
    return configuration
