"""How a program runs: as a stream, as a batch, or as its sources say."""

from __future__ import annotations

import enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(enum.Enum):
    """STREAMING: results as they come. BATCH: final results of bounded inputs. AUTOMATIC: batch if all are."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
