"""Where an operator under test puts its results: everything, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.operators.base import Output

__all__ = ["CollectingOutput", "Idleness", "StreamRecord", "WatermarkMark", "watermark"]


@dataclass(frozen=True)
class StreamRecord:
    """An element that came out; `timestamp` is None if it has none."""

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True)
class WatermarkMark:
    """A watermark between elements."""

    timestamp: int


@dataclass(frozen=True)
class Idleness:
    """The operator became idle, or active again."""

    idle: bool


def watermark(timestamp: int) -> WatermarkMark:
    """A watermark, as an item of a `TestSource` or in an expected output."""
    return WatermarkMark(timestamp)


class CollectingOutput(Output):
    """Keeps elements, watermarks and idleness in `events`, side outputs in `side`."""

    def __init__(self) -> None:
        self.events: list[StreamRecord | WatermarkMark | Idleness] = []
        self.side: dict[str, list[StreamRecord]] = {}

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Notes the elements among the events."""
        self.events.extend(_records(values, timestamps))

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        """Notes the elements under their tag."""
        self.side.setdefault(tag_id, []).extend(_records(values, timestamps))

    def emit_watermark(self, watermark: int) -> None:
        """Notes the watermark among the events."""
        self.events.append(WatermarkMark(watermark))

    def emit_idle(self, idle: bool) -> None:
        """Notes the idleness among the events."""
        self.events.append(Idleness(idle))

    def clear(self) -> None:
        """Forgets what was collected."""
        self.events.clear()
        self.side.clear()


def _records(values: list[Any], timestamps: list[int] | None) -> list[StreamRecord]:
    if timestamps is None:
        return [StreamRecord(value) for value in values]
    return [StreamRecord(value, time) for value, time in zip(values, timestamps, strict=True)]
