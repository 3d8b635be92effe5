"""Panes of sliding windows: chunks of neighbours are one record, written when changed, removed when over."""

from __future__ import annotations

import pytest

from penstock.common.typeinfo import Types
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.state.files import read_records
from penstock.state.overlay import UNLOADED
from penstock.state.panes import CHUNK, PanesStateDescriptor

PANES = PanesStateDescriptor("panes", Types.LONG(), pane_ms=10, offset_ms=3)


def panes_of(backend, key, since=-1000):
    """The state, and the entry and panes of a key."""
    state = backend.get_partitioned_state(PANES)
    backend.set_current_key(key)
    entry = backend.live_entries[key]
    known = entry.slots[state.index]
    return state, entry, state.load(entry, since) if known is UNLOADED else known


def put(backend, key, start, accumulator):
    state, entry, known = panes_of(backend, key)
    known.panes[start] = accumulator
    known.open = start
    known.changed.add(state.chunk_of(start))
    state.dirty[entry] = None


def written(subtask):
    """Chunk number and value (None: removed) of what the epoch wrote."""
    handle = subtask.end()
    subtask.commit(handle)
    data = subtask.files.read_file(handle.deltas[-1])
    records = [(key, value) for table, key, value in read_records(data, 0, 15, "") if table == "s/panes"]
    return [(key[-1], value is not None) for key, value in records]


def test_neighbouring_panes_are_one_record_and_an_epoch_writes_only_the_chunks_that_changed(subtask):
    backend = subtask.begin()
    for start in range(3, 2 * CHUNK * 10, 10):
        put(backend, "a", start, start)
    assert written(subtask) == [(0, True), (1, True)]
    put(subtask.begin(), "a", 3 + 10 * CHUNK, 0)
    assert written(subtask) == [(1, True)]


def test_another_process_reads_the_panes_that_are_not_over(subtask):
    backend = subtask.begin()
    for start in (-17, 3, 13, 1003):
        put(backend, "a", start, start + 1)
    put(backend, "b", 3, 7)
    subtask.commit()
    subtask.restart()
    _, _, known = panes_of(subtask.begin(), "a", since=13)
    assert known.panes == {13: 14, 1003: 1004}
    assert panes_of(subtask.backend, "b")[2].panes == {3: 7}


def test_a_chunk_goes_when_its_last_pane_is_over(subtask):
    backend = subtask.begin()
    put(backend, "a", 3, 1)
    put(backend, "a", 10 * CHUNK + 3, 2)
    subtask.commit()
    state, entry, known = panes_of(subtask.begin(), "a")
    assert known.drop_at == 10 * CHUNK
    del known.panes[3]
    state.drop_before(entry, known, 10 * CHUNK)
    assert written(subtask) == [(0, False)]
    assert known.drop_at == 20 * CHUNK


def test_a_key_without_panes_leaves_nothing(subtask):
    put(subtask.begin(), "a", 3, 1)
    subtask.commit()
    state, _, _ = panes_of(subtask.begin(), "a")
    state.clear()
    assert written(subtask) == [(0, False)]
    subtask.restart()
    assert panes_of(subtask.begin(), "a")[2].panes == {}


def test_panes_of_an_epoch_that_was_given_up_are_forgotten(subtask):
    put(subtask.begin(), "a", 3, 1)
    subtask.commit()
    put(subtask.begin(), "a", 3, 100)
    subtask.backend.abort_epoch()
    assert panes_of(subtask.begin(), "a")[2].panes == {3: 1}


@pytest.mark.parametrize(
    ("descriptor", "fill"),
    [
        (ValueStateDescriptor("value", Types.LONG()), lambda state: state.update(1)),
        (ListStateDescriptor("list", Types.LONG()), lambda state: state.add(1)),
        (MapStateDescriptor("map", Types.LONG(), Types.LONG()), lambda state: state.put(1, 1)),
    ],
)
def test_a_key_does_not_remember_windows_that_are_over(subtask, descriptor, fill):
    for window in range(5):
        backend = subtask.begin()
        state = backend.get_partitioned_state(descriptor, namespaced=True)
        backend.set_current_key("a")
        backend.set_current_namespace(window)
        fill(state)
        backend.set_current_namespace(window - 1)
        state.clear()
        subtask.commit()
        assert list(backend.live_entries["a"].namespaces) == [window]
