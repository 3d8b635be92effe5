"""What happens to the last checkpoint when a job is cancelled."""

from __future__ import annotations

import enum

__all__ = ["ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(enum.Enum):
    """A job that fails keeps its checkpoint, except with NO_EXTERNALIZED_CHECKPOINTS."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


ExternalizedCheckpointCleanup = ExternalizedCheckpointRetention
"""Flink 1.x's name."""
