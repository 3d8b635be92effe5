"""What only the LMDB store has: several processes, a map that grows, a stamp."""

from __future__ import annotations

import multiprocessing
import os
import signal

import cloudpickle
import pytest

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import StateError
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.lmdb import environment as environments
from penstock.state.lmdb import store as stores
from tests.state.conftest import Subtask

COUNT = ValueStateDescriptor("count", Types.LONG())
TEXT = ValueStateDescriptor("text", Types.STRING())
_fork = multiprocessing.get_context("fork")


@pytest.fixture
def task(tmp_path, in_another_process):
    made = Subtask("lmdb", str(tmp_path / "local"), CheckpointStorage(str(tmp_path / "chk"), "job"))
    yield made
    if made.backend is not None:
        made.backend.close()


def add_one(task):
    backend = task.begin()
    count = backend.get_partitioned_state(COUNT)
    backend.set_current_key("a")
    count.update((count.value() or 0) + 1)


def value(task):
    backend = task.begin()
    count = backend.get_partitioned_state(COUNT)
    backend.set_current_key("a")
    found = count.value()
    backend.abort_epoch()
    return found


class OtherProcess:
    """A process that was forked before this one opened anything, as Spark's workers are."""

    def __init__(self):
        self._mine, theirs = _fork.Pipe()
        self._process = _fork.Process(target=self._serve, args=(theirs,), daemon=True)
        self._process.start()

    def __call__(self, work):
        """Runs `work` over there and returns its result, or raises its error."""
        self._mine.send(cloudpickle.dumps(work))
        assert self._mine.poll(60), "the other process said nothing"
        result = self._mine.recv()
        if isinstance(result, Exception):
            raise result
        return result

    def stop(self):
        self._mine.send(None)
        self._process.join(60)

    @staticmethod
    def _serve(pipe):
        while (work := pipe.recv()) is not None:
            try:
                pipe.send(cloudpickle.loads(work)())
            except Exception as error:
                pipe.send(error)


@pytest.fixture
def in_another_process():
    process = OtherProcess()
    yield process
    process.stop()


def another(task):
    made = Subtask("lmdb", task.local_dir, task.files)
    made.committed, made.epoch = task.committed, task.epoch
    return made


def test_epochs_can_run_in_changing_processes(task, in_another_process):
    for _ in range(4):
        other = another(task)

        def epoch(other=other):
            add_one(other)
            other.commit()
            other.backend.close()
            return other.committed

        task.committed = in_another_process(epoch)
        task.epoch += 1
        add_one(task)
        task.commit()
    assert value(task) == 8


def test_a_copy_that_is_current_is_not_rebuilt(task):
    for _ in range(3):
        add_one(task)
        task.commit()
    assert value(task) == 3
    task.files.delete_job()
    task.restart()
    assert value(task) == 3


def test_a_process_killed_while_it_writes_leaves_the_last_complete_copy(task, monkeypatch):
    add_one(task)
    task.commit()
    assert value(task) == 1
    add_one(task)
    task.commit()
    apply_block = stores._apply_block

    def apply_and_die(*args):
        apply_block(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    def die():
        monkeypatch.setattr(stores, "_apply_block", apply_and_die)
        another(task).begin()

    task.backend.close()
    task.backend = None
    process = _fork.Process(target=die)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert value(task) == 2


def test_a_zombie_that_is_behind_works_on_a_copy_of_its_own(task, in_another_process):
    add_one(task)
    task.commit()
    zombie = another(task)
    add_one(task)
    task.commit()
    assert value(task) == 2
    folder = os.path.dirname(task.backend._store._path)
    assert in_another_process(lambda: _look(zombie, folder)) == (1, 2)
    assert len(os.listdir(folder)) == 1
    task.files.delete_job()
    task.restart()
    assert value(task) == 2


def _look(zombie, folder):
    found = value(zombie)
    copies = len(os.listdir(folder))
    zombie.backend.close()
    return found, copies


def test_a_reader_keeps_its_epoch_while_others_write(task, in_another_process):
    add_one(task)
    task.commit()
    backend = task.begin()
    count = backend.get_partitioned_state(COUNT)

    other = another(task)

    def next_epoch():
        add_one(other)
        other.commit()
        assert value(other) == 2
        other.backend.close()
        return True

    assert in_another_process(next_epoch)
    backend.set_current_key("a")
    assert count.value() == 1


def test_the_map_grows_with_the_data(task, monkeypatch):
    monkeypatch.setattr(environments, "FIRST_MAP_SIZE", 256 << 10)
    for epoch in range(4):
        backend = task.begin()
        text = backend.get_partitioned_state(TEXT)
        for key in range(200):
            backend.set_current_key((epoch, key))
            text.update("x" * 1000)
        task.commit()
    backend = task.begin()
    assert len(list(backend.keys(TEXT))) == 800


def test_a_map_that_another_process_enlarged_is_adopted(task, monkeypatch, in_another_process):
    monkeypatch.setattr(environments, "FIRST_MAP_SIZE", 256 << 10)
    add_one(task)
    task.commit()
    assert value(task) == 1

    other = another(task)

    def grow():
        environments.FIRST_MAP_SIZE = 256 << 10
        for _ in range(2):
            backend = other.begin()
            text = backend.get_partitioned_state(TEXT)
            for key in range(500):
                backend.set_current_key(key)
                text.update("x" * 2000)
            other.commit()
        other.begin()
        other.backend.close()
        return other.committed, other.epoch

    task.committed, task.epoch = in_another_process(grow)
    assert value(task) == 1
    backend = task.begin()
    assert len(list(backend.keys(TEXT))) == 500


def test_a_map_does_not_move_under_a_reader_of_the_same_process(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "FIRST_MAP_SIZE", 64 << 10)
    environment = environments.open_environment(str(tmp_path / "env"))
    reader = environment.read()

    def fill(txn):
        table = environment.table_to_write("t", txn)
        for number in range(1000):
            txn.put(b"%d" % number, b"x" * 1000, db=table)

    with pytest.raises(StateError, match="has to grow"):
        environment.write(fill)
    environment.end_read(reader)
    environment.write(fill)
    reader = environment.read()
    assert reader.stat(environment.table("t"))["entries"] == 1000
    environment.end_read(reader)
    environments.close_environment(environment)


def test_a_copy_from_before_the_machine_restarted_is_not_used(task, monkeypatch):
    add_one(task)
    task.commit()
    assert value(task) == 1
    task.backend.close()
    task.backend = None
    monkeypatch.setattr(stores, "boot_id", lambda: "another-boot")
    monkeypatch.setattr(task.files, "read_file", _count_reads(task.files.read_file))
    assert value(task) == 1
    assert task.files.read_file.reads == 1


def _count_reads(read):
    def counted(ref):
        counted.reads += 1
        return read(ref)

    counted.reads = 0
    return counted


def test_the_copy_of_another_key_group_range_is_not_mistaken_for_ours(task):
    add_one(task)
    task.commit()
    assert value(task) == 1
    store = stores.LmdbStore(os.path.dirname(task.backend._store._path), "somebody else")
    stamp_env = environments.open_environment(store._path)
    reader = stamp_env.read()
    assert store._read_stamp(stamp_env, reader).digest == "of another owner"
    stamp_env.end_read(reader)
    environments.close_environment(stamp_env)
