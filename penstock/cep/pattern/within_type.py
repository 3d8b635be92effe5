"""Between which events of a match a time limit counts."""

from __future__ import annotations

import enum

__all__ = ["WithinType"]


class WithinType(enum.Enum):
    """What `within` measures.

        a ────── b ────────── c
        └──── FIRST_AND_LAST ─┘
                 └── PREVIOUS_AND_CURRENT, for step c

    A match is over when the distance reaches the limit: an event exactly that far away is too late.
    """

    FIRST_AND_LAST = "FIRST_AND_LAST"
    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
