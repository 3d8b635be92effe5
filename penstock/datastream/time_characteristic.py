"""`TimeCharacteristic` of Flink 1.x. Since 1.12 window assigners and timers say themselves which time they use."""

from __future__ import annotations

import enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(enum.Enum):
    """Which clock `time_window` used in Flink 1.x."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
