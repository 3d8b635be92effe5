"""Several channels of one exchange, merged by time while their input is handed over.

One ordered collection that was spread over two subtasks and keyed afterwards comes through two channels. Handed over
one whole channel after the other, a key would see one half of its elements after the other half, in each epoch; a
function that looks at what came before would not work. Flink reads channels as they fill, so elements come about in
the order in which they were sent. So here: by their timestamps where they have some, else evenly, as if every sender
had sent its elements at a steady pace during the epoch.

    channel 0    1  3  5  W4  7        handed over   1 2 3 4 5 (W4 of channel 0) 6 (W5 of channel 1) 7 8
    channel 1    2  4  6  W5  8

What always holds:
    - elements and marks of one channel keep their order, even where its timestamps do not rise;
    - what is handed over depends on the parcels of the epoch alone, not on when they arrived: a replay is the same;
    - a channel whose time is over keeps the rest of its parcels, as `IncomingChannel.items` does.

Elements are merged one by one while there are few, else in blocks of `_BLOCK`: about what a network buffer of Flink's
holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.common.ids import MIN_WATERMARK
from penstock.operators.time_box import TimeBox
from penstock.runtime.exchange import IncomingChannel, Mark, Parcel
from penstock.runtime.routing import Timestamps

_FEW = 10_000
_BLOCK = 256

Piece = tuple["_Cursor", int, int]
"""A stretch of a channel's current parcel."""


def merged_items(
    channels: Sequence[IncomingChannel], box: TimeBox
) -> Iterator[tuple[IncomingChannel | None, tuple[list[Any], Timestamps] | Mark]]:
    """Batches (of no channel in particular) and marks (of theirs), as long as there is time."""
    sizes = [sum(parcel.size for parcel in channel.parcels) for channel in channels]
    by_time = all(p.timestamps is not None for channel in channels for p in channel.parcels if p.size)
    block = 1 if sum(sizes) <= _FEW else _BLOCK
    cursors = [_Cursor(channel, size, by_time) for channel, size in zip(channels, sizes, strict=True)]
    while True:
        for cursor in cursors:
            for mark in cursor.due_marks():
                yield cursor.channel, mark
        cursors = [cursor for cursor in cursors if cursor.parcel is not None]
        if not cursors:
            return
        ordered = _Ordered(_in_order(cursors, block))
        while ordered.left:
            size = box.portion(ordered.left)
            if size == 0:
                for cursor in cursors:
                    cursor.put_back()
                return
            yield None, ordered.take(size)


class _Cursor:
    """Goes through a channel, parcel by parcel, up to the next mark each time."""

    def __init__(self, channel: IncomingChannel, size: int, by_time: bool) -> None:
        self.channel = channel
        self.parcel: Parcel | None = None
        self.values: list[Any] = []
        self.clock: Timestamps = None
        self.sent = 0
        self._mark = 0
        self._size = max(1, size)
        self._before = 0
        self.high = MIN_WATERMARK
        self._by_time = by_time

    def due_marks(self) -> Iterator[Mark]:
        """The marks before the next value; then `parcel` is the one with that value, None at the end."""
        while self.parcel is not None or self.channel.parcels:
            if self.parcel is None:
                self.parcel = self.channel.parcels[0]
                self.values, self.clock = self.channel.opened(self.parcel)
                self.sent = self._mark = 0
            while self._mark < len(self.parcel.marks) and self.parcel.marks[self._mark].position <= self.sent:
                mark = self.parcel.marks[self._mark]
                self._mark += 1
                self.channel.pass_mark(mark)
                yield mark
            if self.sent < len(self.values):
                return
            self._before += len(self.values)
            self.channel.parcels.pop(0)
            self.parcel = None

    @property
    def end(self) -> int:
        """How far the values go without a mark between."""
        marks = self.parcel.marks if self.parcel is not None else ()
        return marks[self._mark].position if self._mark < len(marks) else len(self.values)

    @property
    def has_more(self) -> bool:
        """Whether values may follow behind `end`."""
        return self.end < len(self.values) or len(self.channel.parcels) > 1

    def keys(self, block: int) -> np.ndarray[Any, Any]:
        """By what each block of the current stretch is merged; never falling."""
        if not self._by_time or self.clock is None:
            return (np.arange(self.sent, self.end, block) + (self._before + 0.5)) / self._size
        heads = np.maximum.accumulate(np.array(self.clock[self.sent : self.end : block], np.int64))
        found: np.ndarray[Any, Any] = np.maximum(heads, self.high)
        return found

    def put_back(self) -> None:
        """Leaves what was not taken with the channel."""
        if self.parcel is not None:
            self.channel.parcels[0] = self.channel.shortened(
                self.parcel, self.values, self.clock, self.sent, self._mark
            )


def _in_order(live: Sequence[_Cursor], block: int) -> list[Piece]:
    """What can be handed over now, in order: as far as no channel could still bring something earlier."""
    if len(live) == 1:
        return [(live[0], live[0].sent, live[0].end)]
    keys = [cursor.keys(block) for cursor in live]
    bound = min((k[-1] for k, cursor in zip(keys, live, strict=True) if cursor.has_more), default=None)
    if bound is not None:
        keys = [k[: np.searchsorted(k, bound, side="right")] for k in keys]
    of = np.repeat(np.arange(len(live)), [len(k) for k in keys])
    number = np.concatenate([np.arange(len(k)) for k in keys])
    order = np.argsort(np.concatenate(keys), kind="stable")
    pieces: list[Piece] = []
    for cursor, taken in zip(live, keys, strict=True):
        if len(taken) and taken.dtype == np.int64:
            cursor.high = int(taken[-1])
    for channel, nth in zip(of[order].tolist(), number[order].tolist(), strict=True):
        cursor = live[channel]
        start = cursor.sent + nth * block
        pieces.append((cursor, start, min(start + block, cursor.end)))
    return pieces


class _Ordered:
    """Pieces on their way out."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self._next = 0
        self._timed = any(cursor.clock is not None for cursor, _, _ in pieces)
        self.left = sum(end - start for _, start, end in pieces)

    def take(self, size: int) -> tuple[list[Any], Timestamps]:
        """A batch of the first elements that are left; they are taken from their channels."""
        values: list[Any] = []
        clock: list[int] = []
        while len(values) < size:
            cursor, start, end = self._pieces[self._next]
            stop = min(end, start + size - len(values))
            values += cursor.values[start:stop]
            if self._timed:
                clock += cursor.clock[start:stop] if cursor.clock else [MIN_WATERMARK] * (stop - start)
            cursor.sent = stop
            if stop < end:
                self._pieces[self._next] = (cursor, stop, end)
            else:
                self._next += 1
        self.left -= size
        return values, clock if self._timed else None
