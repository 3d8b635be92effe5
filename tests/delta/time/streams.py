"""Streams with out-of-order rows and punctuated watermarks, replayed in epochs that are cut anywhere.

An event is (row, kind, watermark before it, watermark after it). The watermark follows the largest time seen by
`delay`, as `WATERMARK FOR ts AS ts - delay` does. An epoch is advanced to the watermark that was known when it
was planned: that of the end of the epoch before. The last one gets the largest watermark.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import hypothesis
from hypothesis import strategies as st

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.delta.base import INSERT, Batch
from penstock.delta.rows import canonical_bytes
from tests.delta.harness import Harness

EPOCH = dt.datetime(1970, 1, 1)


def given(*strategies):
    """hypothesis.given without a time limit per example: no test depends on how busy the machine is."""

    def decorate(test):
        return hypothesis.settings(deadline=None)(hypothesis.given(*strategies)(test))

    return decorate


def at(ms):
    return EPOCH + dt.timedelta(milliseconds=ms)


def ms(moment):
    return (moment - EPOCH) // dt.timedelta(milliseconds=1)


@dataclass(frozen=True)
class Event:
    row: tuple
    kind: int
    before: int
    after: int


def stream(rows, time_column, delay=0, kinds=None):
    """Events of rows in order of arrival; row times are datetimes."""
    events, watermark = [], MIN_WATERMARK
    for index, row in enumerate(rows):
        after = max(watermark, ms(row[time_column]) - delay)
        events.append(Event(row, INSERT if kinds is None else kinds[index], watermark, after))
        watermark = after
    return events


def timed_rows(columns, max_time=60, max_size=25):
    """Rows of the given column strategies plus a time at the end."""
    time = st.integers(-5, max_time).map(at)
    return st.lists(st.tuples(*columns, time), max_size=max_size)


class Plan(NamedTuple):
    """For each epoch, how many events of each input it takes; before which epochs the process restarts; and which
    epochs run in vain first."""

    shares: Sequence[tuple[int, ...]]
    restarts: Collection[int] = ()
    in_vain: Collection[int] = ()


@st.composite
def cuts(draw, *inputs):
    count = draw(st.integers(1, 5))
    parts = []
    for events in inputs:
        where = st.lists(st.integers(0, len(events)), min_size=count - 1, max_size=count - 1)
        at_ = [0, *sorted(draw(where)), len(events)]
        parts.append([j - i for i, j in pairwise(at_)])
    restarts, in_vain = st.sets(st.integers(1, count)), st.sets(st.integers(0, count))
    return Plan(list(zip(*parts, strict=True)), draw(restarts), draw(in_vain))


class TimeHarness(Harness):
    """The harness, with watermarks of each input and on the output."""

    def step(self, batches, watermark=None, now=0, in_vain=False):
        """Runs an epoch; with `in_vain` it has run before in this process, and nobody has taken what came of it."""
        from penstock.state.backend import next_handle

        if in_vain:
            before, counts = self._context.watermark, dict(self.metrics)
            self._run(batches, watermark, now)
            self._backend.end_epoch(self._epoch + 1)
            self.metrics.clear()
            self.metrics.update(counts)
            self._context.watermark = before
            if not self._committed:  # the worker takes a new instance then
                self.restart()
        restore = self._restore_point()
        snapshot = self._run(batches, watermark, now)
        delta = self._backend.end_epoch(self._epoch + 1)
        self._committed = (next_handle(restore, snapshot, self._epoch + 1, delta),)
        self._epoch += 1
        output = self._operator.output
        self.table.apply(list(zip(output.rows, output.kinds, strict=True)))
        return output

    def _run(self, batches, watermark, now):
        snapshot = self._backend.begin_epoch(self._restore_point(), now)
        self._context.processing_time_ms = now
        if not self._opened:
            self._operator.open(self._context)
            self._opened = True
        operator = self._operator
        operator.begin_epoch()
        for index, batch in enumerate(batches):
            if len(batch):
                operator.process(index, batch)
        if watermark is not None and watermark > self._context.watermark:
            operator.advance(watermark)
            self._context.watermark = watermark
        operator.end_epoch()
        return snapshot

    def restart(self):
        watermark = self._context.watermark if hasattr(self, "_context") else MIN_WATERMARK
        super().restart()
        self._context.watermark = watermark

    def has_state(self):
        """Whether anything is left in the store."""
        store = self._backend._store
        self._backend.begin_epoch(self._restore_point(), 0)
        left = [
            table for table in store.tables() if table != "meta" and any(True for _ in store.scan(table, b""))
        ]
        self._backend.abort_epoch()
        return [table for table in left if table.startswith(("s/", "t/"))]

    def _restore_point(self):
        from penstock.state.backend import KeyedStateRestore

        return KeyedStateRestore(self._epoch, 0, 15, self._committed, False)


def replay(make, inputs, plan=None, *, event_time=True, within=False):
    """Runs events through an operator; returns (harness, list of (row, kind, watermark)) in order of output.

    With `within` an epoch is advanced to the watermark of its own last rows, as operators are that scans tell how far
    they have come, and the last one to the end of time.
    """
    shares, restarts, in_vain = Plan(*plan or [[tuple(len(events) for events in inputs)]])
    harness = TimeHarness(make)
    known = [MIN_WATERMARK] * len(inputs)
    taken = [0] * len(inputs)
    out = []
    for number, share in enumerate(shares):
        if number in restarts:
            harness.restart()
        batches, planned = [], min(known)
        for index, (events, size) in enumerate(zip(inputs, share, strict=True)):
            part = events[taken[index] : taken[index] + size]
            taken[index] += size
            if part:
                known[index] = part[-1].after
            watermarks = [event.before for event in part] if event_time else None
            batches.append(Batch([e.row for e in part], [e.kind for e in part], watermarks))
        if within:
            planned = MAX_WATERMARK if number == len(shares) - 1 else min(known)
        out.append(
            harness.step(batches, planned if event_time else None, now=number, in_vain=number in in_vain)
        )
    if len(shares) in restarts:
        harness.restart()
    end = MAX_WATERMARK if event_time else None
    out.append(harness.step([], end, now=len(shares), in_vain=len(shares) in in_vain))
    return harness, [
        (row, kind, watermark)
        for batch in out
        for row, kind, watermark in zip(
            batch.rows, batch.kinds, batch.watermarks or [None] * len(batch.rows), strict=True
        )
    ]


def counted_rows(output):
    return Counter(canonical_bytes(entry[0]) for entry in output)


def multiset(rows):
    return Counter(canonical_bytes(row) for row in rows)


def cascade(first, second, inputs, plan):
    """Rows that come out of the second of two operators that run one after the other in each epoch."""
    shares, restarts, in_vain = Plan(*plan)
    upper, lower = TimeHarness(first), TimeHarness(second)
    delay = getattr(first(), "watermark_delay_ms", 0)
    known, taken, output = [MIN_WATERMARK] * len(inputs), [0] * len(inputs), []
    for number, share in enumerate([*shares, None]):
        if number in restarts:
            upper.restart()
            lower.restart()
        planned, batches = min(known) if share is not None else MAX_WATERMARK, []
        for index, size in enumerate(share or ()):
            part = inputs[index][taken[index] : taken[index] + size]
            taken[index] += size
            known[index] = part[-1].after if part else known[index]
            batches.append(Batch([e.row for e in part], [e.kind for e in part], [e.before for e in part]))
        between = upper.step(batches, planned, in_vain=number in in_vain)
        plain = planned in (MIN_WATERMARK, MAX_WATERMARK)
        after = lower.step([between], planned if plain else planned - delay, in_vain=number in in_vain)
        output += [(row,) for row in after.rows]
    assert lower.metrics.get("numLateRecordsDropped", 0) == 0
    return output
