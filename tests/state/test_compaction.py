"""A chain of state files becomes one snapshot: the same state, which nobody who has it has to read."""

from __future__ import annotations

import pathlib
import random

import pytest

from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import DamagedStateError
from penstock.common.time import Time
from penstock.common.typeinfo import Types
from penstock.state import files as state_files
from penstock.state.descriptors import StateTtlConfig, ValueStateDescriptor
from penstock.state.encoding import group_bytes
from penstock.state.files import Changes, encode_changes, merged_records, read_records
from tests.state.conftest import Subtask

COUNT = ValueStateDescriptor("count", Types.LONG())


class Reads(CheckpointStorage):
    """Remembers which files were read."""

    read: list[str]

    def read_file(self, ref: FileRef) -> bytes:
        self.read.append(ref.path)
        return super().read_file(ref)


def run_epochs(subtask: Subtask, count: int) -> None:
    """Changes some keys in each, and removes one."""
    for _ in range(count):
        backend = subtask.begin()
        state = backend.get_partitioned_state(COUNT)
        for key in range(subtask.epoch, subtask.epoch + 5):
            backend.set_current_key(key)
            state.update(subtask.epoch * 100 + key)
        backend.set_current_key(subtask.epoch - 1)
        state.clear()
        subtask.commit()


def contents(subtask: Subtask) -> dict[int, int]:
    backend = subtask.begin()
    state = backend.get_partitioned_state(COUNT)
    found = {}
    for key in list(backend.keys(COUNT)):
        backend.set_current_key(key)
        found[key] = state.value()
    backend.abort_epoch()
    return found


@pytest.mark.parametrize("kind", ["lmdb", "memory"])
@pytest.mark.parametrize("newest", [0, 3])
def test_a_copy_that_has_the_chain_goes_on_without_reading_the_snapshot(
    kind: str, newest: int, tmp_path: pathlib.Path
) -> None:
    storage = Reads(str(tmp_path / "chk"), "job")
    storage.read = []
    subtask = Subtask(kind, str(tmp_path / "local"), storage)
    run_epochs(subtask, 10)
    expected = contents(subtask)
    subtask.compact(newest)
    storage.read = []
    run_epochs(subtask, 1)
    assert storage.read == []

    run_epochs(subtask, 2)
    now = contents(subtask)
    assert now != expected
    for new_kind in ("lmdb", "memory"):
        elsewhere = Subtask(new_kind, str(tmp_path / new_kind), storage, committed=subtask.committed)
        elsewhere.epoch = subtask.epoch
        assert contents(elsewhere) == now
        elsewhere.backend.close()
    subtask.backend.close()


def test_half_of_the_key_groups_are_taken_from_it(tmp_path: pathlib.Path) -> None:
    subtask = Subtask("memory", str(tmp_path))
    run_epochs(subtask, 6)
    before = subtask.committed
    subtask.compact()
    halves = []
    for committed in (before, subtask.committed):
        parts = [Subtask("memory", str(tmp_path), subtask.files, i, 2, committed=committed) for i in range(2)]
        for part in parts:
            part.epoch = subtask.epoch
        halves.append([contents(part) for part in parts])
    assert halves[0] == halves[1]
    assert all(halves[0])


def test_removed_keys_and_what_has_expired_are_not_in_it(tmp_path: pathlib.Path) -> None:
    ttl = StateTtlConfig.new_builder(Time.milliseconds(100)).cleanup_full_snapshot().build()
    expiring = ValueStateDescriptor("expiring", Types.LONG())
    expiring.enable_time_to_live(ttl)
    subtask = Subtask("memory", str(tmp_path))
    for key, now in ((1, 0), (2, 50), (3, 120)):
        backend = subtask.begin(now)
        state = backend.get_partitioned_state(expiring)
        backend.set_current_key(key)
        state.update(key)
        subtask.commit()
    backend = subtask.begin(120)
    expiries = backend.expiries()
    backend.set_current_key(3)
    state.clear()
    subtask.commit()
    assert list(expiries.values()) == [20]
    subtask.compact(0, expiries)
    (handle,) = subtask.committed
    assert handle.snapshot is not None and handle.deltas == ()
    data = subtask.files.read_file(handle.snapshot)
    (table,) = expiries
    kept = [value for name, _, value in read_records(data, 0, 15, "here") if name == table]
    assert len(kept) == 1 and None not in kept  # of three: the first has expired, the third is removed


def test_a_damaged_file_is_told_and_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    storage = CheckpointStorage(str(tmp_path / "chk"), "job")
    subtask = Subtask("memory", str(tmp_path / "local"), storage)
    run_epochs(subtask, 4)
    files = sorted((tmp_path / "chk").rglob("*.delta"))
    data = bytearray(files[1].read_bytes())
    data[len(data) // 2] ^= 1
    files[1].write_bytes(data)
    before = sorted((tmp_path / "chk").rglob("*"))
    with pytest.raises(DamagedStateError, match="damaged"):
        subtask.compact()
    assert sorted((tmp_path / "chk").rglob("*")) == before


def test_merging_files_block_by_block_gives_the_newest_change_of_each_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_files, "_BLOCK_RECORDS", 3)
    random_ = random.Random(7)
    for _ in range(200):
        newest: dict[tuple[str, bytes], bytes | None] = {}
        files = []
        for age in range(random_.randrange(6)):
            changes: Changes = {}
            for _ in range(random_.randrange(25)):
                table = random_.choice(["m", "s/a", "s/b"])
                key = group_bytes(random_.randrange(4)) + bytes([random_.randrange(8)])
                value = None if random_.random() < 0.3 else b"%d" % age
                changes.setdefault(table, {})[key] = newest[table, key] = value
            files.append((f"file {age}", encode_changes("delta", 1, changes)))
        expected = [(t, k, v) for (t, k), v in sorted(newest.items()) if v is not None]
        assert list(merged_records(files, 0, 3)) == expected
        part = [r for r in expected if r[0] == "m" or group_bytes(1) <= r[1][:2] <= group_bytes(2)]
        assert list(merged_records(files, 1, 2)) == part
