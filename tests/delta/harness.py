"""Drives a delta operator through epochs on the in-memory backend, and folds its changes into a table.

A table is a multiset of rows, a dict from canonical bytes to (row, count). Every change of an output is applied
to one; taking away a row that is not there fails the test, whatever else it looks at.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st

from penstock.checkpoint.storage import MemoryFiles
from penstock.common.codecs import compile_codec
from penstock.delta.base import DELETE, INSERT, WEIGHT, Batch, DeltaContext
from penstock.delta.rows import canonical_bytes
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend

GROUPS = 16


class Harness:
    """One operator at parallelism 1. `restart()` lets a new process take over from the committed state."""

    def __init__(self, make_operator, function_context=None):
        self._make = make_operator
        self._function_context = function_context
        self._files = MemoryFiles()
        self._committed = ()
        self._epoch = 0
        self.metrics = {}
        self.table = Table()
        self.changes = []
        self.restart()

    def restart(self):
        self._backend = open_keyed_backend(
            "memory",
            local_dir="",
            job_id="job",
            uid="delta",
            subtask=0,
            first_key_group=0,
            last_key_group=GROUPS - 1,
            max_parallelism=GROUPS,
            key_codec=compile_codec(None),
            storage=self._files,
            file_prefix="delta",
        )
        self._operator = self._make()
        self._context = DeltaContext(
            keyed_state=self._backend, metrics=self.metrics, function_context=self._function_context
        )
        self._opened = False

    def close(self):
        self._operator.close()

    def epoch(self, *inputs, now=0, watermark=None, row_watermarks=None):
        """Runs one epoch; an input is a list of (row, kind). Returns the output as such a list."""
        restore = KeyedStateRestore(self._epoch, 0, GROUPS - 1, self._committed, False)
        snapshot = self._backend.begin_epoch(restore, now)
        self._context.processing_time_ms = now
        if not self._opened:
            self._operator.open(self._context)
            self._opened = True
        self._operator.begin_epoch()
        for index, changes in enumerate(inputs):
            if changes:
                batch = Batch([row for row, _ in changes], [kind for _, kind in changes], row_watermarks)
                self._operator.process(index, batch)
        if watermark is not None:
            self._operator.advance(watermark)
            self._context.watermark = watermark
        self._operator.end_epoch()
        output = self._operator.output
        assert len(output.rows) == len(output.kinds)
        delta = self._backend.end_epoch(self._epoch + 1)
        self._committed = (next_handle(restore, snapshot, self._epoch + 1, delta),)
        self._epoch += 1
        result = list(zip(output.rows, output.kinds, strict=True))
        self.changes.extend(result)
        self.table.apply(result)
        return result

    def run(self, epochs, restart_before=()):
        """Runs epochs, each a tuple of inputs; returns the final table as a Counter of multiset."""
        for number, inputs in enumerate(epochs):
            if number in restart_before:
                self.restart()
            self.epoch(*inputs)
        return self.table.counts()


class Table:
    """A multiset of rows that refuses to lose what it does not have."""

    def __init__(self, changes=()):
        self._rows = {}
        self.apply(changes)

    def apply(self, changes):
        for row, kind in changes:
            key = canonical_bytes(row)
            count = self._rows.get(key, (row, 0))[1] + WEIGHT[kind]
            assert count >= 0, f"took away {row!r}, which is not in the table"
            self._rows[key] = (row, count)

    def rows(self):
        return [row for row, count in self._rows.values() for _ in range(count)]

    def counts(self):
        return Counter({key: count for key, (_, count) in self._rows.items() if count})


def counted(rows):
    """Rows as `Harness.run` gives them."""
    return Counter(canonical_bytes(row) for row in rows)


def inserts(rows):
    return [(row, INSERT) for row in rows]


@st.composite
def changelogs(draw, rows, max_size=30, retracts=True):
    """Changes that never take away a row that is not there: a valid history of a table."""
    history, present = [], []
    for _ in range(draw(st.integers(0, max_size))):
        if retracts and present and draw(st.integers(0, 2)) == 0:
            history.append((present.pop(draw(st.integers(0, len(present) - 1))), DELETE))
        else:
            row = draw(rows)
            present.append(row)
            history.append((row, INSERT))
    return history


@st.composite
def cut(draw, *histories):
    """The same histories, cut into epochs: a list of tuples with one part of each history."""
    count = draw(st.integers(1, 5))
    parts = []
    for history in histories:
        at = sorted(draw(st.lists(st.integers(0, len(history)), min_size=count - 1, max_size=count - 1)))
        parts.append([history[i:j] for i, j in zip([0, *at], [*at, len(history)], strict=True)])
    return list(zip(*parts, strict=True))


def table_of(history):
    """The rows that a history leaves."""
    return Table(history).rows()
