"""Arrangements hold what committed epochs added, through crashes, snapshots, savepoints and other parallelisms."""

from __future__ import annotations

import glob
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.checkpoint.handles import KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint
from penstock.checkpoint.savepoint import read_savepoint, write_savepoint
from penstock.checkpoint.storage import CheckpointStorage, MemoryFiles
from penstock.common.codecs import compile_codec
from penstock.common.errors import StateMigrationError
from penstock.common.key_groups import key_group_range
from penstock.common.key_hashes import key_groups, key_hashes
from penstock.state import files as state_files
from penstock.state.arranged import arrangement, runs, store
from penstock.state.arranged.runs import places_of
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend
from tests.state.conftest import compacted

GROUPS = 8


def places(keys):
    hashes = key_hashes([pa.array(keys, pa.int64())], len(keys))
    return places_of(hashes, key_groups(hashes, GROUPS))


def row_ids(rows):
    return np.array([abs(hash(row)) for row in rows], np.uint64)


class Subtask:
    """A backend with one arrangement of (key, text) rows."""

    def __init__(self, files, subtask=0, parallelism=1, handles=(), epoch=0, local_dir=None, weighted=True):
        groups = key_group_range(subtask, GROUPS, parallelism)
        self.groups, self.handles, self.epoch, self.weighted = groups, handles, epoch, weighted
        self.backend = open_keyed_backend(
            "lmdb" if local_dir else "memory", local_dir=local_dir or "", job_id="j", uid="u", subtask=subtask,
            first_key_group=groups[0], last_key_group=groups[-1], max_parallelism=GROUPS,
            key_codec=compile_codec(None), storage=files, file_prefix=f"shared/u-{subtask}",
        )  # fmt: skip

    def begin(self, take_snapshot=False):
        self.restore = KeyedStateRestore(
            self.epoch, self.groups[0], self.groups[-1], self.handles, take_snapshot
        )
        self.snapshot = self.backend.begin_epoch(self.restore, 0)
        self.rows = self.backend.get_arrangement("rows", weighted=self.weighted)

    def change(self, changes):
        mine = [(row, weight) for row, weight in changes if places([row[0]])[0] >> 48 in self.groups]
        if not mine:
            return
        sums = Counter()
        for row, weight in mine:
            sums[row] += weight
        found = [row for row, weight in sums.items() if weight]
        table = pa.table(
            [pa.array([r[0] for r in found], pa.int64()), pa.array([r[1] for r in found], pa.string())],
            names=["k", "v"],
        )
        self.rows.add(
            table, places([r[0] for r in found]), row_ids(found), np.array([sums[r] for r in found])
        )

    def commit(self):
        delta = self.backend.end_epoch(self.epoch + 1)
        self.handles = (next_handle(self.restore, self.snapshot, self.epoch + 1, delta),)
        self.epoch += 1

    def content(self):
        """All rows, found by their keys."""
        found = self.rows.find(np.unique(places(range(12))))
        rows = zip(*(c.to_pylist() for c in found.table.columns), strict=True)
        result = Counter()
        for row, weight in zip(rows, found.weights.tolist(), strict=True):
            result[row] += weight
        return result


rows = st.tuples(st.integers(0, 11), st.sampled_from(["a", "b", "c"]))


@st.composite
def histories(draw):
    """Epochs of changes that never take away what is not there, and what happens before each."""
    present, epochs = Counter(), []
    for _ in range(draw(st.integers(1, 10))):
        changes = []
        for row in draw(st.lists(rows, max_size=5)):
            weight = -1 if present[row] and draw(st.booleans()) else 1
            present[row] += weight
            changes.append((row, weight))
        event = draw(st.sampled_from(["go on", "restart", "abort", "snapshot", "rescale", "compact"]))
        epochs.append((event, changes, +present))
    return epochs


def make_small(patch):
    """Few rows are many: runs are merged often, have several chunks and lie in files."""
    patch.setattr(arrangement, "_SMALL_ROWS", 2)
    patch.setattr(arrangement, "FANOUT", 2)
    patch.setattr(runs, "CHUNK_ROWS", 3)
    patch.setattr(store, "_MAPPED_BYTES", 0)
    patch.setattr(state_files, "_OPENED_BYTES", 0)


@pytest.fixture
def small(monkeypatch):
    make_small(monkeypatch)


@settings(deadline=None, max_examples=60)
@given(history=histories(), on_disk=st.booleans())
def test_rows_are_what_committed_epochs_left(history, on_disk, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        folder = str(tmp_path_factory.mktemp("local")) if on_disk else None
        files, before = MemoryFiles(), Counter()
        subtasks = [Subtask(files, local_dir=folder)]
        for event, changes, expected in history:
            if event == "rescale":
                width = 3 - len(subtasks)
                handles = tuple(h for s in subtasks for h in s.handles)
                subtasks = [
                    Subtask(files, i, width, handles, subtasks[0].epoch, folder) for i in range(width)
                ]
            elif event == "restart":
                subtasks = [
                    Subtask(files, i, len(subtasks), s.handles, s.epoch, folder)
                    for i, s in enumerate(subtasks)
                ]
            elif event == "compact":
                for subtask in (s for s in subtasks if s.handles):
                    scratch = str(tmp_path_factory.mktemp("scratch"))
                    subtask.handles = (compacted(subtask.handles[0], files, scratch, len(changes) % 2),)
            for subtask in subtasks:
                if event == "abort":
                    subtask.begin()
                    subtask.change([((3, "lost"), 1)])
                    subtask.backend.abort_epoch()
                subtask.begin(event == "snapshot")
            assert sum((s.content() for s in subtasks), Counter()) == before
            for subtask in subtasks:
                subtask.change(changes)
                subtask.commit()
            before = expected
        for subtask in subtasks:
            subtask.begin()
        assert sum((s.content() for s in subtasks), Counter()) == before


def test_two_processes_take_turns_and_share_the_files_of_large_runs(small, tmp_path):
    files = MemoryFiles()
    one, two = (Subtask(files, local_dir=str(tmp_path)) for _ in range(2))
    for number in range(12):
        mine, other = (one, two) if number % 3 else (two, one)
        mine.handles, mine.epoch = max((one, two), key=lambda s: s.epoch).handles, number
        mine.begin()
        mine.change([((number, "x"), 1), ((number, "y"), 2)])
        mine.commit()
        assert other.epoch <= mine.epoch
    one.handles, one.epoch = max((one, two), key=lambda s: s.epoch).handles, 12
    one.begin()
    assert one.content() == Counter({(n, "x"): 1 for n in range(12)} | {(n, "y"): 2 for n in range(12)})
    assert glob.glob(f"{tmp_path}/**/*.arrow", recursive=True)


class FewPieces(MemoryFiles):
    """Counts the pieces of each snapshot, and refuses to read a file as a whole."""

    def __init__(self):
        super().__init__()
        self.pieces = []

    def write_file(self, relative, data):
        if relative.endswith(".snapshot"):
            data = list(data)
            self.pieces.append(len(data))
        return super().write_file(relative, data)

    def open_file(self, ref):
        return super().read_file(ref)

    def read_file(self, ref):
        raise AssertionError(f"{ref.path} is in memory as a whole")


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_snapshot_is_written_and_read_a_chunk_at_a_time(small, tmp_path, on_disk):
    files, folder = FewPieces(), str(tmp_path) if on_disk else None
    subtask = Subtask(files, local_dir=folder)
    for part in (range(6), range(6, 12)):
        subtask.begin()
        subtask.change([((n, "x"), 1) for n in part])
        subtask.commit()
    subtask.begin(take_snapshot=True)
    subtask.commit()
    assert files.pieces[0] > 4  # magic, chunks of three rows or so, a table of schemas, footer
    again = Subtask(
        files, handles=subtask.handles, epoch=2, local_dir=str(tmp_path / "other") if on_disk else None
    )
    again.begin()
    assert again.content() == Counter({(n, "x"): 1 for n in range(12)})


def test_rows_that_go_cancel_when_runs_meet(small):
    subtask = Subtask(MemoryFiles())
    for changes in ([((1, "a"), 1)], [((1, "a"), -1)], [((2, "a"), 1)], [((2, "a"), -1)]):
        subtask.begin()
        subtask.change(changes)
        subtask.commit()
    subtask.begin()
    assert subtask.rows.runs == ()
    assert subtask.rows.find(places([1])).table.num_rows == 0


def test_a_savepoint_has_the_rows_and_stands_alone(tmp_path):
    storage = CheckpointStorage(str(tmp_path / "chk"), "job")
    subtask = Subtask(storage)
    for key in range(12):
        subtask.begin()
        subtask.change([((key, "a"), 1), ((key, "b"), 2), ((key - 1, "b"), -1)][: 3 if key else 2])
        subtask.commit()
    state = OperatorSubtaskState(keyed=subtask.handles[0])
    operator = OperatorCheckpoint("u", "u", 1, GROUPS, (state,))
    path = write_savepoint(
        str(tmp_path / "sp"), CheckpointMetadata(12, "job", "job", 0, {"u": operator}), storage
    )
    storage.delete_job()
    new = CheckpointStorage(str(tmp_path / "new"), "other")
    restored = read_savepoint(path, new).operators["u"].subtasks
    handles = tuple(s.keyed for s in restored)
    assert all(isinstance(h, KeyedStateHandle) for h in handles)
    halves = [Subtask(new, i, 2, handles, 12) for i in range(2)]
    for half in halves:
        half.begin()
    expected = Counter({(k, "a"): 1 for k in range(12)} | {(k, "b"): 1 for k in range(11)} | {(11, "b"): 2})
    assert halves[0].content() + halves[1].content() == expected


def test_state_of_another_shape_is_refused():
    subtask = Subtask(MemoryFiles())
    subtask.begin()
    subtask.change([((1, "a"), 1)])
    subtask.commit()
    subtask.begin()
    with pytest.raises(StateMigrationError, match="was written with columns"):
        subtask.rows.check(pa.schema([("k", pa.int64())]))
    again = Subtask(subtask.backend._files, handles=subtask.handles, epoch=1, weighted=False)
    with pytest.raises(StateMigrationError, match="rows of state 'rows'"):
        again.begin()
