"""The keys of a JSON object that an aggregate puts together."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import MalformedRecordError


def unique_keys(pairs: list[tuple[str | None, Any]]) -> dict[str, Any]:
    """The pairs by key.

    Raises:
        MalformedRecordError: A key is NULL or there twice.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key is None:
            raise MalformedRecordError("a key of JSON_OBJECTAGG is NULL", do="filter such rows out")
        if key in found:
            raise MalformedRecordError(
                f"key '{key}' is already present: JSON_OBJECTAGG takes each key once",
                do="make the keys of a group unique",
            )
        found[key] = value
    return found
