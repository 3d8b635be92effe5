"""Functions that are called without parentheses: CURRENT_DATE and the like."""

from __future__ import annotations

NO_PAREN_CALLS = frozenset(
    {
        "CURRENT_DATE",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "CURRENT_ROW_TIMESTAMP",
        "CURRENT_CATALOG",
        "CURRENT_DATABASE",
        "CURRENT_USER",
    }
)
