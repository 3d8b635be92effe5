"""Checkpoint storage: durable files, committed metadata, and what may be deleted."""

from __future__ import annotations

import json
import os
import pathlib
import pickle

import pytest

from penstock.checkpoint.encoding import decode_metadata, encode_metadata
from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import (
    CheckpointMetadata,
    OperatorCheckpoint,
    PendingCommit,
    SourceCheckpoint,
)
from penstock.checkpoint.storage import CheckpointStorage, read_metadata
from penstock.common.errors import CheckpointError, DamagedStateError


@pytest.fixture(params=["local", "memory"])
def storage(request, tmp_path):
    base = str(tmp_path) if request.param == "local" else f"memory://{tmp_path.name}/checkpoints"
    made = CheckpointStorage(base, "job-1")
    yield made
    made.delete_job()


def metadata(epoch, *files, operator_state=None):
    handle = KeyedStateHandle(epoch, 0, 127, None, tuple(files))
    subtask = OperatorSubtaskState(handle, operator_state, b"function", None)
    return CheckpointMetadata(
        epoch,
        "job-1",
        "word count",
        1234,
        {"counter": OperatorCheckpoint("counter", "Count", 1, 128, (subtask,))},
        {"source": SourceCheckpoint("source", {"next": 3}, {"s0": (("file", 1), 17, False, 0)})},
        (PendingCommit("sink", ({"file": "part-0"},)),),
        properties={"watermark": 99},
    )


def test_metadata_reads_back_as_it_was_written(storage):
    snapshot = storage.write_file("shared/counter/0/1-x.snapshot", b"abc")
    written = metadata(3, snapshot, operator_state=FileRef("elsewhere", 1, "00"))
    path = storage.write_metadata(written)
    assert path.endswith("/job-1/chk-3")
    assert storage.read_metadata(path) == written
    assert read_metadata(path + "/_metadata") == written


def test_the_header_is_json_that_names_every_file(storage):
    ref = storage.write_file("shared/counter/0/1-x.delta", b"abc")
    header = json.loads(encode_metadata(metadata(3, ref)).split(b"\n")[0])
    kept = header["operators"]["counter"]["subtasks"][0]["keyed"]["deltas"][0]
    assert kept == {"path": ref.path, "size_bytes": 3, "checksum": ref.checksum}
    assert header["format"] == "penstock-checkpoint" and header["version"] == 1


def test_a_state_file_is_verified_when_it_is_read(tmp_path):
    storage = CheckpointStorage(str(tmp_path), "job-1")
    ref = storage.write_file("shared/a/1-x.delta", b"some bytes")
    assert storage.read_file(ref) == b"some bytes"
    with open(ref.path, "r+b") as file:
        file.write(b"S")
    with pytest.raises(CheckpointError, match="damaged") as caught:
        storage.read_file(ref)
    assert ref.path in str(caught.value)


def test_a_file_may_be_written_in_pieces_and_read_in_parts(storage):
    pieces = [b"some", b"", b" bytes"]
    ref = storage.write_file("shared/a/1-x.snapshot", iter(pieces))
    whole = storage.write_file("shared/a/1-y.snapshot", b"some bytes")
    assert (ref.size_bytes, ref.checksum) == (whole.size_bytes, whole.checksum)
    parts = storage.open_file(ref)
    storage.discard(ref)  # whoever has opened it goes on reading
    assert (len(parts), parts[5:], parts[-3:-1], parts[:4]) == (10, b"bytes", b"te", b"some")
    with pytest.raises(DamagedStateError, match="damaged"):
        storage.open_file(FileRef(whole.path, whole.size_bytes, "0" * 16))


def test_a_file_whose_pieces_fail_is_not_there(tmp_path):
    storage = CheckpointStorage(str(tmp_path), "job-1")

    def pieces():
        yield b"some"
        raise OSError("the state could not be read")

    with pytest.raises(OSError, match="could not be read"):
        storage.write_file("shared/a/1-x.snapshot", pieces())
    assert os.listdir(tmp_path / "job-1/shared/a") == []


def test_the_sizes_of_a_folders_files_are_known_without_reading_them(storage):
    storage.write_file("shared/op/a", b"123")
    storage.write_file("shared/op/b", b"")
    storage.write_file("shared/op/deeper/c", b"1")
    files, folder = filesystem_for(f"{storage.root}/shared/op")
    assert files.sizes(folder) == {"a": 3, "b": 0}
    assert files.sizes(f"{folder}/nothing") == {}


def test_a_missing_state_file_is_named(storage):
    with pytest.raises(CheckpointError, match="missing"):
        storage.read_file(FileRef(f"{storage.root}/shared/none", 1, "00"))


def test_files_of_another_job_can_be_read(storage):
    ref = storage.write_file("shared/a/1-x.delta", b"some bytes")
    assert CheckpointStorage(storage.base, "job-2").read_file(ref) == b"some bytes"


def test_storage_travels_to_tasks(storage):
    ref = storage.write_file("shared/a/1-x.delta", b"some bytes")
    assert pickle.loads(pickle.dumps(storage)).read_file(ref) == b"some bytes"


def test_newest_complete_is_none_for_a_new_job(storage):
    assert storage.newest_complete() is None


def test_every_changed_byte_of_metadata_is_noticed():
    data = encode_metadata(metadata(3, FileRef("p", 1, "c")))
    decode_metadata(data, "here")
    for position in range(0, len(data), 7):
        broken = data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
        with pytest.raises(CheckpointError):
            decode_metadata(broken, "here")


def test_a_newer_format_is_refused_with_advice():
    data = encode_metadata(metadata(3)).replace(b'"version": 1', b'"version": 9', 1)
    with pytest.raises(CheckpointError, match="format 9"):
        decode_metadata(data, "here")


def test_cleanup_keeps_files_a_retained_checkpoint_needs(storage):
    files = {n: storage.write_file(f"shared/counter/0/{n}-x.delta", b"%d" % n) for n in range(1, 6)}
    snapshot = storage.write_file("shared/counter/0/4-y.snapshot", b"s")
    storage.write_metadata(metadata(1, files[1]))
    storage.write_metadata(metadata(2, files[1], files[2]))
    storage.write_metadata(metadata(3, files[1], files[2], files[3]))
    assert storage.retain(1) == []
    assert storage.list_checkpoints() == [3]
    storage.write_metadata(metadata(4, snapshot, files[4]))
    assert storage.retain(2) == []
    storage.write_metadata(metadata(5, snapshot, files[4], files[5]))
    assert storage.retain(2) == sorted(files[n].path for n in (1, 2, 3))
    for epoch in storage.list_checkpoints():
        for ref in storage.read_metadata(storage.checkpoint_path(epoch)).files:
            storage.read_file(ref)


def test_cleanup_keeps_what_it_is_told_to_and_files_of_other_jobs(storage):
    other = CheckpointStorage(storage.base, "job-0").write_file("shared/c/1-x.delta", b"o")
    mine = storage.write_file("shared/c/1-x.delta", b"m")
    kept = storage.write_file("shared/c/1-y.delta", b"k")
    storage.write_metadata(metadata(1, other, mine, kept))
    storage.write_metadata(metadata(2))
    assert storage.retain(1, frozenset({kept.path})) == [mine.path]
    assert storage.read_file(other) == b"o" and storage.read_file(kept) == b"k"


def test_cleanup_never_deletes_the_only_readable_checkpoint(storage):
    ref = storage.write_file("shared/c/1-x.delta", b"m")
    storage.write_metadata(metadata(1, ref))
    storage._files.write(f"{storage.root}/chk-2/_metadata", b"damaged")
    assert CheckpointStorage(storage.base, "job-1").retain(1) == []
    assert storage.read_file(ref) == b"m"


def test_sweep_deletes_what_aborted_attempts_left_but_not_the_running_epoch(storage):
    committed = storage.write_file("shared/c/0/00000001-a.delta", b"1")
    orphan = storage.write_file("shared/c/0/00000001-b.delta", b"1")
    running = storage.write_file("shared/c/0/00000002-c.delta", b"2")
    storage.write_metadata(metadata(1, committed))
    assert storage.sweep() == [orphan.path]
    assert storage.read_file(committed) and storage.read_file(running)


def test_nothing_half_written_is_ever_visible(tmp_path, monkeypatch):
    storage = CheckpointStorage(str(tmp_path), "job-1")
    storage.write_metadata(metadata(1))

    def no_space(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        storage.write_metadata(metadata(2))
    monkeypatch.undo()
    found = CheckpointStorage(str(tmp_path), "job-1").newest_complete()
    assert found is not None and found.epoch == 1
    assert os.listdir(tmp_path / "job-1" / "chk-2") == []


@pytest.mark.parametrize("durable", [True, False])
def test_files_are_synced_where_checkpoints_outlive_the_driver(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    storage = pickle.loads(pickle.dumps(CheckpointStorage(str(tmp_path), "job", durable)))
    ref = storage.write_file("shared/1-a", b"state")
    assert storage.read_file(ref) == b"state"
    assert len(synced) == (2 if durable else 0)  # the file, and the folder that names it


def test_a_folder_without_metadata_is_an_epoch_that_was_not_committed(tmp_path):
    storage = CheckpointStorage(str(tmp_path), "job")
    (tmp_path / "job" / "chk-1").mkdir(parents=True)  # a process died before it had committed
    assert storage.newest_complete() is None
    storage.write_metadata(CheckpointMetadata(2, "job", "name", 0))
    (tmp_path / "job" / "chk-3").mkdir()
    assert CheckpointStorage(str(tmp_path), "job").newest_complete().epoch == 2


@pytest.mark.parametrize(
    "way", [lambda p: p.write_bytes(p.read_bytes()[:-3]), pathlib.Path.unlink], ids=["cut", "gone"]
)
def test_the_copy_of_metadata_is_read_where_the_file_itself_is_damaged(tmp_path, way):
    storage = CheckpointStorage(str(tmp_path), "job")
    storage.write_metadata(CheckpointMetadata(1, "job", "name", 0))
    storage.write_metadata(CheckpointMetadata(2, "job", "name", 0))
    way(tmp_path / "job" / "chk-2" / "_metadata")
    assert CheckpointStorage(str(tmp_path), "job").newest_complete().epoch == 2


def test_nobody_goes_on_from_an_older_checkpoint_by_itself_because_output_would_be_repeated(tmp_path):
    storage = CheckpointStorage(str(tmp_path), "job")
    for epoch in (1, 2):
        storage.write_metadata(CheckpointMetadata(epoch, "job", "name", 0))
    for path in (tmp_path / "job" / "chk-2").iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DamagedStateError, match="newest checkpoint is damaged") as caught:
        CheckpointStorage(str(tmp_path), "job").newest_complete()
    assert caught.value.do.splitlines()[1:] == [f"{tmp_path}/job/chk-1"]
