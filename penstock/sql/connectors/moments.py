"""Where time stands when an epoch of a streaming query is committed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """The clock and the watermark of an epoch, in milliseconds; `ended`: no epoch comes after it."""

    processing_time_ms: int
    watermark: int
    ended: bool = False
