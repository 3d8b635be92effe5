"""Many small deltas become one file, and nobody who has them has to read it."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.checkpoint.encoding import decode_metadata, encode_metadata
from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint
from penstock.checkpoint.packing import KEPT_DELTAS, PACK_BYTES, PACK_DELTAS, pack, to_pack
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.typeinfo import Types
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.factory import open_keyed_backend
from penstock.state.files import META_TABLE, read_records

COUNT = ValueStateDescriptor("count", Types.LONG())
EPOCHS = PACK_DELTAS + KEPT_DELTAS + 3


class Reads(CheckpointStorage):
    """Remembers which files were read."""

    read: list[str]

    def read_file(self, ref: FileRef) -> bytes:
        self.read.append(ref.path)
        return super().read_file(ref)


def backend(
    kind: str, storage: CheckpointStorage, local: pathlib.Path, groups: tuple[int, int] = (0, 127)
) -> Any:
    return open_keyed_backend(
        kind, local_dir=str(local), job_id="job", uid="op", subtask=0, first_key_group=groups[0],
        last_key_group=groups[1], max_parallelism=128, key_codec=compile_codec(Types.LONG()), storage=storage,
        file_prefix="shared/op-0",
    )  # fmt: skip


def run_epoch(keyed: Any, handle: KeyedStateHandle | None, epoch: int) -> KeyedStateHandle:
    """Adds one to a key, and removes another now and then."""
    restore = KeyedStateRestore(epoch - 1, 0, 127, (handle,) if handle else ())
    snapshot = keyed.begin_epoch(restore, 0)
    state = keyed.get_partitioned_state(COUNT)
    keyed.set_current_key(epoch % 7)
    state.update((state.value() or 0) + 1)
    if epoch % 5 == 0:
        keyed.set_current_key((epoch + 3) % 7)
        state.clear()
    return next_handle(restore, snapshot, epoch, keyed.end_epoch(epoch))


def contents(keyed: Any, handle: KeyedStateHandle, groups: tuple[int, int] = (0, 127)) -> dict[int, int]:
    keyed.begin_epoch(KeyedStateRestore(handle.epoch, *groups, (handle,)), 0)
    state = keyed.get_partitioned_state(COUNT)
    found = {}
    for key in list(keyed.keys(COUNT)):
        keyed.set_current_key(key)
        found[key] = state.value()
    keyed.abort_epoch()
    return found


@pytest.fixture
def storage(tmp_path: pathlib.Path) -> Reads:
    made = Reads(str(tmp_path / "chk"), "job")
    made.read = []
    return made


@pytest.mark.parametrize("kind", ["lmdb", "memory"])
def test_a_packed_chain_is_the_same_state_and_a_copy_that_has_it_reads_nothing(
    kind: str, storage: Reads, tmp_path: pathlib.Path
) -> None:
    keyed, handle = backend(kind, storage, tmp_path / "one"), None
    for epoch in range(1, EPOCHS + 1):
        handle = run_epoch(keyed, handle, epoch)
    assert handle is not None
    found = to_pack(handle)
    assert found is not None
    packed = pack(handle, *found, storage).adopted(handle)
    assert packed is not None and len(packed.deltas) == KEPT_DELTAS + 1
    elsewhere = contents(backend(kind, storage, tmp_path / "two"), handle)

    storage.read.clear()
    goes_on = run_epoch(keyed, packed, EPOCHS + 1)
    assert storage.read == []
    storage.read.clear()
    assert contents(backend(kind, storage, tmp_path / "three"), packed) == elsewhere
    assert len(storage.read) == KEPT_DELTAS + 1

    # Half of the key groups, as after a change of parallelism.
    half = contents(backend(kind, storage, tmp_path / "half", (0, 63)), handle, (0, 63))
    assert half and half.items() < elsewhere.items()
    assert contents(backend(kind, storage, tmp_path / "four", (0, 63)), packed, (0, 63)) == half
    assert goes_on.deltas[:-1] == packed.deltas


def test_a_packed_file_is_packed_again_unless_it_is_large() -> None:
    small = tuple(FileRef(f"d{i}", 10, "00") for i in range(PACK_DELTAS + KEPT_DELTAS))
    assert to_pack(KeyedStateHandle(9, 0, 1, None, small)) == (0, small[:PACK_DELTAS])
    assert to_pack(KeyedStateHandle(9, 0, 1, None, small[1:])) is None
    large = FileRef("p", PACK_BYTES + 1, "00")
    assert to_pack(KeyedStateHandle(9, 0, 1, None, (large, *small))) == (1, small[:PACK_DELTAS])
    assert to_pack(KeyedStateHandle(9, 0, 1, None, (*small[:4], large, *small[4:]))) is None


def test_metadata_keeps_what_a_packed_file_stands_for() -> None:
    ref = FileRef("p", 10, "00", (0, 63), "a", "b")
    state = OperatorSubtaskState(KeyedStateHandle(9, 0, 63, None, (ref, FileRef("d", 1, "11"))))
    before = CheckpointMetadata(9, "job", "name", 0, {"op": OperatorCheckpoint("op", "Op", 2, 128, (state,))})
    assert decode_metadata(encode_metadata(before), "here") == before


@pytest.mark.parametrize("on_a_snapshot", [False, True])
def test_removed_keys_are_only_packed_where_something_below_has_them(
    on_a_snapshot: bool, storage: Reads, tmp_path: pathlib.Path
) -> None:
    keyed, handle = backend("lmdb", storage, tmp_path / "one"), None
    for epoch in range(1, EPOCHS + 1):
        restore = KeyedStateRestore(
            epoch - 1, 0, 127, (handle,) if handle else (), on_a_snapshot and epoch == 2
        )
        snapshot = keyed.begin_epoch(restore, 0)
        state = keyed.get_partitioned_state(COUNT)
        keyed.set_current_key(epoch)
        state.update(epoch)
        keyed.set_current_key(epoch - 1)  # each key lives for one epoch
        state.clear()
        handle = next_handle(restore, snapshot, epoch, keyed.end_epoch(epoch))
    assert handle is not None and (handle.snapshot is not None) == on_a_snapshot
    found = to_pack(handle)
    assert found is not None and found[0] == 0
    packed = pack(handle, *found, storage)
    records = [r for r in read_records(storage.read_file(packed.file), 0, 127, "") if r[0] != META_TABLE]
    removed = [record for record in records if record[2] is None]
    assert (len(removed) >= PACK_DELTAS - 2) if on_a_snapshot else not removed
    adopted = packed.adopted(handle)
    assert adopted is not None
    assert contents(backend("lmdb", storage, tmp_path / "two"), adopted) == {EPOCHS: EPOCHS}
    assert contents(keyed, adopted) == {EPOCHS: EPOCHS}
