"""What a statement's result means."""

from __future__ import annotations

import enum

__all__ = ["ResultKind"]


class ResultKind(enum.Enum):
    SUCCESS = 0
    """The statement only says that it worked."""
    SUCCESS_WITH_CONTENT = 1
    """There are rows to look at."""
