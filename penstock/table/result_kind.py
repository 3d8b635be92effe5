"""What a statement's result means."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """Kinds of results; as in PyFlink they are numbers."""

    SUCCESS = 0
    """The statement only says that it worked."""
    SUCCESS_WITH_CONTENT = 1
    """There are rows to look at."""
