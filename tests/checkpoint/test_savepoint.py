"""Savepoints: readable, complete in themselves, and exact when restored."""

from __future__ import annotations

import json
import os
import shutil

import duckdb
import pytest

from penstock.checkpoint.contents import contents_of, open_contents
from penstock.checkpoint.entries import KeyedStateView
from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.checkpoint.resolve import OperatorDescription, resolve_restore
from penstock.checkpoint.savepoint import is_savepoint, read_savepoint, savepoint_rows, write_savepoint
from penstock.checkpoint.storage import CheckpointStorage, read_metadata
from penstock.common.codecs import compile_codec
from penstock.common.errors import CheckpointError
from penstock.common.key_groups import key_group_for
from penstock.common.time import Time
from penstock.common.typeinfo import Types
from penstock.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from tests.state.conftest import MAX_PARALLELISM, Subtask

COUNT = ValueStateDescriptor("count", Types.LONG())
NAMES = ListStateDescriptor("names", Types.STRING())
STOCK = MapStateDescriptor("stock", Types.STRING(), Types.ROW_NAMED(["n"], [Types.LONG()]))
SEEN = ListStateDescriptor("seen", Types.LONG())
SEEN.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
ANY = ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY())
KEYS = ["a", "b", "long " * 50, ("t", 1), 7]


def fill(backend, keys, rounds):
    states = [backend.get_partitioned_state(d) for d in (COUNT, NAMES, STOCK, SEEN, ANY)]
    count, names, stock, seen, anything = states
    for key in keys:
        backend.set_current_key(key)
        count.update((count.value() or 0) + rounds)
        names.add(f"name {rounds}")
        stock.put("pen" * (1 + 60 * (rounds % 2)), {"n": rounds})
        seen.add(rounds)
        anything.update({"set": (1, 2)})
        backend.event_timers.register(rounds * 10, ("window", rounds))
        backend.processing_timers.register(-rounds)


def show(backend):
    count, names, stock, seen, anything = (
        backend.get_partitioned_state(d) for d in (COUNT, NAMES, STOCK, SEEN, ANY)
    )
    found = {}
    for key in list(backend.keys(COUNT)):
        backend.set_current_key(key)
        found[key] = (count.value(), names.get(), stock.items(), seen.get(), anything.value())
    timers = [(t.time_ms, t.key, t.namespace) for t in backend.event_timers.pop_due(1000)]
    return found, sorted(timers, key=repr), len(backend.processing_timers.pop_due(1000))


def description(path):
    with open(f"{path}/savepoint.json") as file:
        return json.load(file)


def owned(keys, groups):
    codec = compile_codec(None)
    return [k for k in keys if key_group_for(codec.encode_key(k), MAX_PARALLELISM) in groups]


@pytest.fixture
def job(tmp_path):
    """A job at parallelism 2 after three epochs: its storage, its checkpoint and what it holds."""
    storage = CheckpointStorage(str(tmp_path / "chk"), "1a2b3c4d")
    subtasks, shown = [], ({}, [], 0)
    for index in range(2):
        task = Subtask("memory", str(tmp_path), storage, index, 2)
        for epoch in (1, 2, 3):
            backend = task.begin(1000, take_snapshot=epoch == 3)
            fill(backend, owned(KEYS, task.groups), epoch)
            task.commit()
        found, timers, others = show(task.begin(1000))
        shown = ({**shown[0], **found}, sorted(shown[1] + timers, key=repr), shown[2] + others)
        blob = storage.write_file(f"shared/op-{index}", b"operator %d" % index)
        subtasks.append(
            OperatorSubtaskState(task.committed[0], blob, b"function", b"runtime", ended=index == 1)
        )
        task.backend.close()
    operator = OperatorCheckpoint("my/operator", "Count", 2, MAX_PARALLELISM, tuple(subtasks))
    source = SourceCheckpoint("source", {"seen": 2}, {"s0": ("file.txt", 17, False, 0)})
    metadata = CheckpointMetadata(3, "1a2b3c4d", "count", 99, {"my/operator": operator}, {"source": source})
    storage.write_metadata(metadata)
    return storage, metadata, shown


def restored(metadata, storage, parallelism, folder):
    described = OperatorDescription("my/operator", "Count", parallelism, MAX_PARALLELISM, keyed=True)
    operators = [described, OperatorDescription("source", "Source", 1, MAX_PARALLELISM)]
    plan = resolve_restore(metadata, operators)
    shown = ({}, [], 0)
    for index, restore in enumerate(plan.operators["my/operator"]):
        task = Subtask("lmdb", str(folder / str(parallelism)), storage, index, parallelism)
        task.committed, task.epoch = restore.keyed, metadata.epoch
        found, timers, others = show(task.begin(1000))
        shown = ({**shown[0], **found}, sorted(shown[1] + timers, key=repr), shown[2] + others)
        task.backend.close()
    return shown


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_savepoint_restores_exactly_at_any_parallelism(job, tmp_path, parallelism):
    storage, metadata, shown = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    storage.delete_job()
    moved = str(tmp_path / "moved")
    shutil.move(path, moved)
    fresh = CheckpointStorage(str(tmp_path / "chk"), "next-job")
    again = fresh.read_metadata(moved)
    assert restored(again, fresh, parallelism, tmp_path) == shown
    assert len(shown[0]) == len(KEYS)
    kept = again.operators["my/operator"].subtasks
    assert [(s.operator_state, s.function_state) for s in kept] == [
        (b"operator 0", b"function"),
        (b"operator 1", b"function"),
    ]
    assert again.sources == metadata.sources and again.epoch == 3 and again.properties == {}
    assert [s.ended for s in kept] == [False, True]
    with pytest.raises(CheckpointError, match="this is a savepoint"):
        read_metadata(moved)


def test_a_savepoint_is_readable_without_penstock(job, tmp_path):
    storage, metadata, _ = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    described = description(path)
    assert described["sources"]["source"]["splits"]["s0"]["position"] == "17"
    folder = described["operators"]["my/operator"]["folder"]
    query = f"select key, value from '{path}/{folder}/*.parquet' where state = 'count' order by key_group"
    rows = dict(duckdb.sql(query).fetchall())
    assert rows['"a"'] == "6" and rows["7"] == "6" and rows['["t", 1]'] == "6"
    rows = savepoint_rows(path, "my/operator").to_pylist()
    of = {(r["state"], r["key"], r["map_key"], r["position"]): r for r in rows if r["kind"] != "timer"}
    assert of["stock", '"a"', '"pen"', None]["value"] == '{"n": 2}'
    assert of["names", '"a"', None, 0]["value"] == '["name 1"]'
    assert of["seen", '"a"', None, 0]["value"] == "[1]"
    assert of["seen", '"a"', None, 0]["accessed_ms"] == 1000
    timers = [r for r in rows if r["kind"] == "timer" and r["state"] == "event" and r["key"] == '"a"']
    assert [(r["position"], r["namespace"]) for r in timers] == [
        (10, '["window", 1]'),
        (20, '["window", 2]'),
        (30, '["window", 3]'),
    ]


def test_rows_that_another_tool_rewrote_are_restored(job, tmp_path):
    storage, metadata, shown = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    folder = description(path)["operators"]["my/operator"]["folder"]
    new_value = compile_codec(Types.LONG()).encode(100)
    table = f"{path}/{folder}"
    duckdb.sql(
        f"copy (select * replace (case when state = 'count' then unhex('{new_value.hex()}') "
        f"else value_bytes end as value_bytes) from '{table}/*.parquet' order by random()) "
        f"to '{tmp_path}/part-all.parquet' (format parquet)"
    )
    shutil.rmtree(table)
    shutil.copytree(tmp_path, table, ignore=lambda d, names: [n for n in names if n != "part-all.parquet"])
    fresh = CheckpointStorage(str(tmp_path / "chk"), "next-job")
    found = restored(read_savepoint(path, fresh), fresh, 2, tmp_path)
    assert {key: value[0] for key, value in found[0].items()} == dict.fromkeys(shown[0], 100)
    assert found[1:] == shown[1:]


def test_what_is_not_a_savepoint_is_refused(job, tmp_path):
    storage, metadata, _ = job
    assert not is_savepoint(storage.checkpoint_path(3))
    with pytest.raises(CheckpointError, match="no savepoint here"):
        read_savepoint(storage.checkpoint_path(3), storage)
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    assert is_savepoint(path) and is_savepoint(path + "/_metadata")
    assert path.rpartition("/")[2].startswith("savepoint-1a2b3c-")


@pytest.mark.parametrize("name", ["savepoint.json", "_metadata"])
def test_a_savepoint_that_was_copied_in_part_says_what_is_missing(job, tmp_path, name):
    storage, metadata, _ = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    os.unlink(f"{path}/{name}")
    for read in (open_contents, storage.read_metadata):
        with pytest.raises(CheckpointError, match=f"the savepoint is incomplete: it has no {name}") as caught:
            read(path)
        assert path in str(caught.value) and "copy the whole folder" in str(caught.value)


def test_a_damaged_part_is_named(job, tmp_path):
    storage, metadata, _ = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    folder = description(path)["operators"]["my/operator"]["folder"]
    part = f"{path}/{folder}/part-0-0.parquet"
    with open(part, "r+b") as file:
        file.truncate(100)
    with pytest.raises(CheckpointError, match="damaged") as caught:
        read_savepoint(path, storage)
    assert part in str(caught.value)


def test_a_large_state_is_written_in_parts_and_read_share_by_share(job, tmp_path, monkeypatch):
    storage, metadata, shown = job
    monkeypatch.setattr("penstock.checkpoint.savepoint_parts.PART_ROWS", 7)
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    parts = description(path)["operators"]["my/operator"]["parts"]
    assert len(parts) > 4 and all(part["rows"] <= 7 for part in parts)
    fresh = CheckpointStorage(str(tmp_path / "chk"), "next-job")
    assert restored(read_savepoint(path, fresh), fresh, 3, tmp_path) == shown
    operator, of_files = open_contents(path).operator("my/operator"), contents_of(metadata)
    view = KeyedStateView(operator, "names")
    found = {entry.key: entry.value for share in view.shares for entry in view.entries(share)}
    assert found == {key: states[1] for key, states in shown[0].items()}
    same = KeyedStateView(of_files.operator("my/operator"), "names")
    assert [e.value for e in same.of_key("a")] == [e.value for e in view.of_key("a")] == [found["a"]]
    assert list(view.of_key("nobody")) == []


def test_files_that_the_savepoint_does_not_name_are_not_read(job, tmp_path):
    storage, metadata, shown = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    folder = f"{path}/{description(path)['operators']['my/operator']['folder']}"
    shutil.copy(f"{folder}/part-0-0.parquet", f"{folder}/part-7-0.parquet")
    with open(f"{folder}/part-7-0.parquet", "r+b") as file:
        file.truncate(10)
    fresh = CheckpointStorage(str(tmp_path / "chk"), "next-job")
    assert restored(read_savepoint(path, fresh), fresh, 2, tmp_path) == shown


def test_a_missing_part_or_a_changed_description_is_reported(job, tmp_path):
    storage, metadata, _ = job
    path = write_savepoint(str(tmp_path / "savepoints"), metadata, storage)
    folder = f"{path}/{description(path)['operators']['my/operator']['folder']}"
    shutil.move(f"{folder}/part-1-0.parquet", f"{tmp_path}/kept")
    with pytest.raises(CheckpointError, match=r"incomplete: part-1-0\.parquet is missing"):
        read_savepoint(path, storage)
    shutil.move(f"{tmp_path}/kept", f"{folder}/part-1-0.parquet")
    described = description(path)
    described["operators"]["my/operator"]["max_parallelism"] = 5
    with open(f"{path}/savepoint.json", "w") as file:
        json.dump(described, file)
    with pytest.raises(CheckpointError, match="it is not the one that was written"):
        read_savepoint(path, storage)
