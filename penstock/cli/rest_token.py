"""The token that a verb, or the SQL client in front of a gateway, shows to a server that wants one."""

from __future__ import annotations

import os

from penstock.common.errors import ValidationError

__all__ = ["HOW_TO_GIVE_IT", "TOKEN_FILE", "rest_token"]

TOKEN_FILE = "penstock.rest.token-file"
HOW_TO_GIVE_IT = f"set the variable PENSTOCK_REST_TOKEN to the token, or give its file: -D {TOKEN_FILE}=PATH"


def rest_token(path: str | None) -> str | None:
    """What stands in the file; without one, what the variable PENSTOCK_REST_TOKEN has, if it is set.

    Raises:
        ValidationError: The file cannot be read.
    """
    if not path:
        return os.environ.get("PENSTOCK_REST_TOKEN")
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"the token cannot be read: {error}", where=TOKEN_FILE) from error
