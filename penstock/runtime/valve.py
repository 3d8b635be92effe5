"""Combines the watermarks, idleness and ends of an operator's channels into one, like Flink's valve."""

from __future__ import annotations

from collections.abc import Hashable

from penstock.common.ids import MIN_WATERMARK
from penstock.runtime.exchange import ChannelStatus


class Valve:
    """Minimum over the active channels; an idle channel does not hold the others back.

    Knows nothing of elements. Every change answers what the operator must be told, if anything.
    """

    def __init__(self) -> None:
        self._watermarks: dict[Hashable, int] = {}
        self._idle: set[Hashable] = set()
        self._ended: set[Hashable] = set()
        self._input_of: dict[Hashable, int] = {}
        self._emitted = MIN_WATERMARK

    def begin(self, emitted: int) -> None:
        """Starts an epoch: channels are announced anew, the combined watermark goes on from `emitted`."""
        self._emitted = emitted
        for table in (self._watermarks, self._input_of):
            table.clear()
        self._idle.clear()
        self._ended.clear()

    def announce(self, channel: Hashable, input_index: int, status: ChannelStatus) -> None:
        self._watermarks[channel] = status.watermark
        self._input_of[channel] = input_index
        if status.idle:
            self._idle.add(channel)
        if status.ended:
            self._ended.add(channel)

    def advance(self, channel: Hashable, watermark: int) -> int | None:
        """A channel's watermark moved; answers the new combined watermark if that moved too."""
        if watermark > self._watermarks[channel]:
            self._watermarks[channel] = watermark
        return self._combined()

    def set_idle(self, channel: Hashable, idle: bool) -> int | None:
        (self._idle.add if idle else self._idle.discard)(channel)
        return self._combined()

    def end(self, channel: Hashable) -> bool:
        """A channel ended; True if that was the last channel of its input."""
        if channel in self._ended:
            return False
        self._ended.add(channel)
        mine = self._input_of[channel]
        return all(c in self._ended for c, i in self._input_of.items() if i == mine)

    @property
    def all_idle(self) -> bool:
        return bool(self._watermarks) and len(self._idle) == len(self._watermarks)

    @property
    def all_ended(self) -> bool:
        return len(self._ended) == len(self._watermarks)

    def _combined(self) -> int | None:
        if self._idle:
            active = [w for c, w in self._watermarks.items() if c not in self._idle]
            # All idle: flush up to the furthest one, as Flink does, since none of them is waited for.
            combined = min(active) if active else max(self._watermarks.values())
        else:
            combined = min(self._watermarks.values())
        if combined <= self._emitted:
            return None
        self._emitted = combined
        return combined
