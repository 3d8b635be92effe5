"""What a checkpoint promises."""

from __future__ import annotations

import enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(enum.Enum):
    """An epoch commits state and output together, so both modes give exactly-once here."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
