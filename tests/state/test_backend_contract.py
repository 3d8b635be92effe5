"""What every keyed backend does, whatever it stores state in."""

from __future__ import annotations

import pytest

from penstock.common.errors import (
    CheckpointError,
    InvariantError,
    StateError,
    StateMigrationError,
    TypeMismatchError,
)
from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from tests.state.conftest import MAX_PARALLELISM, Subtask

COUNT = ValueStateDescriptor("count", Types.LONG())
ANY = ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY())
NAMES = ListStateDescriptor("names", Types.STRING())
STOCK = MapStateDescriptor("stock", Types.STRING(), Types.LONG())
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())


class Average:
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


AVERAGE = AggregatingStateDescriptor("average", Average(), Types.TUPLE([Types.LONG(), Types.LONG()]))


def at(backend, key):
    backend.set_current_key(key)


# --- values -------------------------------------------------------------------------------------------------


def test_value_is_none_until_it_is_updated(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    assert count.value() is None
    count.update(3)
    assert count.value() == 3
    at(backend, "b")
    assert count.value() is None


def test_values_survive_epochs_and_a_restart(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    for key in ("a", "b"):
        at(backend, key)
        count.update(1)
    subtask.commit()
    backend = subtask.begin()
    at(backend, "a")
    count.update(count.value() + 1)
    subtask.commit()
    subtask.restart()
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    seen = []
    for key in ("a", "b"):
        at(backend, key)
        seen.append(count.value())
    assert seen == [2, 1]


def test_update_with_none_and_clear_remove_the_value(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    for key in ("a", "b"):
        at(backend, key)
        count.update(1)
    subtask.commit()
    backend = subtask.begin()
    at(backend, "a")
    count.update(None)
    at(backend, "b")
    count.clear()
    assert count.value() is None
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    assert list(backend.keys(COUNT)) == []
    at(backend, "a")
    assert count.value() is None


def test_equal_keys_of_different_types_are_different_keys(subtask):
    keys = [1, True, 1.0, (1, "x"), (True, "x"), "1", b"1", None, [1], Row(1), 0.0, -0.0, ((1,),), ((True,),)]
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    for number, key in enumerate(keys):
        at(backend, key)
        assert count.value() is None, key
        count.update(number)
    for number, key in enumerate(keys):
        at(backend, key)
        assert count.value() == number
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    for number, key in enumerate(keys):
        at(backend, key)
        assert count.value() == number


def test_reading_does_not_make_a_delta(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    count.update(1)
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    assert count.value() == 1
    assert backend.end_epoch(2) is None


def test_a_value_of_another_type_is_refused_where_it_is_written(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    with pytest.raises(TypeMismatchError):
        count.update("three")


def test_a_float_state_reads_the_same_before_and_after_an_epoch(subtask):
    backend = subtask.begin()
    ratio = backend.get_partitioned_state(ValueStateDescriptor("ratio", Types.FLOAT()))
    at(backend, "a")
    ratio.update(0.1)
    before = ratio.value()
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    ratio = backend.get_partitioned_state(ValueStateDescriptor("ratio", Types.FLOAT()))
    at(backend, "a")
    assert ratio.value() == before != 0.1


def test_long_keys_namespaces_and_map_keys_are_kept_in_full(subtask):
    long_key, other = "k" * 1000, "k" * 999 + "x"
    window = ("w" * 500, 1)
    backend = subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    inside = backend.get_partitioned_state(
        MapStateDescriptor("inside", Types.STRING(), Types.LONG()), namespaced=True
    )
    for number, key in enumerate((long_key, other)):
        at(backend, key)
        stock.put("m" * 300, number)
        backend.set_current_namespace(window)
        inside.put("i" * 400, number)
        backend.event_timers.register(10, window)
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    inside = backend.get_partitioned_state(
        MapStateDescriptor("inside", Types.STRING(), Types.LONG()), namespaced=True
    )
    assert set(backend.keys(STOCK)) == {long_key, other}
    at(backend, other)
    backend.set_current_namespace(window)
    assert stock.items() == [("m" * 300, 1)]
    assert inside.items() == [("i" * 400, 1)]
    due = backend.event_timers.pop_due(10)
    assert {(t.key, t.namespace) for t in due} == {(long_key, window), (other, window)}


def test_state_without_a_key_is_an_error(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    with pytest.raises(StateError, match="without a current key"):
        count.value()


# --- lists --------------------------------------------------------------------------------------------------


def test_list_grows_over_epochs_in_order(subtask):
    backend = subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    expected = []
    for epoch in range(40):
        if epoch % 7 == 3:
            backend = subtask.restart()
        subtask.begin()
        names = backend.get_partitioned_state(NAMES)
        at(backend, "a")
        names.add(f"x{epoch}")
        names.add_all([f"y{epoch}", f"z{epoch}"])
        expected += [f"x{epoch}", f"y{epoch}", f"z{epoch}"]
        if epoch % 5 == 4:
            assert names.get() == expected
        subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    at(backend, "a")
    assert list(names) == expected


def test_adding_to_a_list_writes_only_what_was_added(subtask):
    backend = subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    at(backend, "a")
    names.add_all([f"name {i} of a long list" for i in range(5000)])
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    names.add("one more")
    assert backend.end_epoch(2).size_bytes < 400


def test_list_update_replaces_and_clear_empties(subtask):
    backend = subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    at(backend, "a")
    names.add_all(["a", "b"])
    assert names.get() == ["a", "b"]
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    names.add("c")
    names.update(["x"])
    names.add("y")
    assert names.get() == ["x", "y"]
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    at(backend, "a")
    assert names.get() == ["x", "y"]
    names.clear()
    assert names.get() == []
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    at(backend, "a")
    assert names.get() == []


def test_what_get_returns_belongs_to_the_caller(subtask):
    backend = subtask.begin()
    names = backend.get_partitioned_state(NAMES)
    at(backend, "a")
    names.add("a")
    names.get().append("not in the state")
    assert names.get() == ["a"]


# --- maps ---------------------------------------------------------------------------------------------------


def test_map_merges_committed_entries_and_changes(subtask):
    backend = subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    stock.put_all({"pen": 1, "ink": 2, "cup": 3})
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    stock.put("pen", 10)
    stock.remove("ink")
    stock["hat"] = 4
    del stock["no such thing"]
    assert sorted(stock.items()) == [("cup", 3), ("hat", 4), ("pen", 10)]
    assert "pen" in stock and "ink" not in stock and stock["cup"] == 3 and stock.get("ink") is None
    subtask.commit()
    subtask.begin()
    at(backend, "s")
    assert sorted(stock.keys()) == ["cup", "hat", "pen"] and sorted(stock.values()) == [3, 4, 10]


def test_map_is_empty_right_after_the_last_entry_was_removed(subtask):
    backend = subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    assert stock.is_empty()
    stock.put("pen", 1)
    assert not stock.is_empty()
    subtask.commit()
    subtask.begin()
    at(backend, "s")
    stock.remove("pen")
    assert stock.is_empty() and stock.items() == []
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    assert stock.is_empty()


def test_map_clear_then_put_keeps_only_the_new(subtask):
    backend = subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    stock.put_all({"pen": 1, "ink": 2})
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    stock.clear()
    stock.put("ink", 5)
    assert stock.items() == [("ink", 5)]
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    assert stock.items() == [("ink", 5)]


def test_map_order_does_not_depend_on_where_an_epoch_ended(subtask):
    words = ["pear", "fig", "apple", "kiwi", "nut", "date"]
    backend = subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    for key, cut in (("whole", False), ("cut", True)):
        for number, word in enumerate(words):
            at(backend, key)
            stock.put(word, number)
            if cut and number % 2:
                subtask.commit()
                backend = subtask.restart()
                subtask.begin()
                stock = backend.get_partitioned_state(STOCK)
    at(backend, "whole")
    whole = stock.items()
    at(backend, "cut")
    assert stock.items() == whole


def test_map_keys_are_told_apart_by_their_bytes(subtask):
    anything = MapStateDescriptor("anything", Types.PICKLED_BYTE_ARRAY(), Types.STRING())
    keys = [1, True, 1.0, "1", (1, 2), (1, True), [1], None, Row(1, 2), b"1"]
    backend = subtask.begin()
    state = backend.get_partitioned_state(anything)
    at(backend, "a")
    for key in keys:
        assert not state.contains(key)
        state.put(key, repr(key))
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    state = backend.get_partitioned_state(anything)
    at(backend, "a")
    assert [state.get(key) for key in keys] == [repr(key) for key in keys]
    assert sorted(state.values()) == sorted(repr(key) for key in keys)


def test_map_values_may_be_none(subtask):
    backend = subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    stock.put("pen", None)
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    stock = backend.get_partitioned_state(STOCK)
    at(backend, "s")
    assert stock.contains("pen") and stock.get("pen") is None and stock.items() == [("pen", None)]


# --- reducing, aggregating, namespaces ----------------------------------------------------------------------


def test_reducing_and_aggregating_state_combine(subtask):
    backend = subtask.begin()
    total, average = backend.get_partitioned_state(SUM), backend.get_partitioned_state(AVERAGE)
    at(backend, "a")
    assert total.get() is None and average.get() is None
    for value in (1, 2):
        total.add(value)
        average.add(value)
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    total.add(3)
    average.add(6)
    assert (total.get(), average.get()) == (6, 3.0)
    total.clear()
    assert total.get() is None


def test_namespaced_state_follows_the_namespace_and_plain_state_does_not(subtask):
    backend = subtask.begin()
    inside = backend.get_partitioned_state(SUM, namespaced=True)
    plain = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    for window in ((0, 10), (10, 20)):
        backend.set_current_namespace(window)
        inside.add(window[1])
        plain.update((plain.value() or 0) + 1)
    at(backend, "b")
    assert inside.get() is None
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    inside = backend.get_partitioned_state(SUM, namespaced=True)
    plain = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    backend.set_current_namespace((10, 20))
    assert (inside.get(), plain.value()) == (20, 2)
    backend.set_current_namespace((0, 10))
    assert inside.get() == 10


def test_merging_namespaces_combines_and_clears_the_sources(subtask):
    backend = subtask.begin()
    total = backend.get_partitioned_state(SUM, namespaced=True)
    average = backend.get_partitioned_state(AVERAGE, namespaced=True)
    names = backend.get_partitioned_state(NAMES, namespaced=True)

    def fill(window, value):
        at(backend, "a")
        backend.set_current_namespace(window)
        total.add(value)
        average.add(value)
        names.add(str(value))

    fill((0, 5), 1)
    fill((5, 9), 2)
    subtask.commit()
    subtask.begin()
    fill((9, 12), 6)
    for descriptor in (SUM, AVERAGE, NAMES):
        backend.merge_namespaces(descriptor, (0, 5), [(5, 9), (9, 12)])
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    backend.set_current_namespace((0, 5))
    assert (total.get(), average.get(), names.get()) == (9, 3.0, ["1", "2", "6"])
    for window in ((5, 9), (9, 12)):
        backend.set_current_namespace(window)
        assert (total.get(), average.get(), names.get()) == (None, None, [])


def test_keys_are_those_that_have_a_value_committed_or_not(subtask):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    for key in ("a", "b", "c"):
        at(backend, key)
        count.update(1)
    subtask.commit()
    subtask.begin()
    at(backend, "b")
    count.clear()
    at(backend, "d")
    count.update(1)
    assert set(backend.keys(COUNT)) == {"a", "c", "d"}


# --- timers -------------------------------------------------------------------------------------------------


def fired(queue, time):
    return [(t.time_ms, t.key, t.namespace) for t in queue.pop_due(time)]


def test_timers_fire_once_in_time_order_across_epochs(subtask):
    backend = subtask.begin()
    timers = backend.event_timers
    assert timers.next_time() is None
    at(backend, "a")
    for time in (30, -5, 10, 10):
        timers.register(time)
    assert timers.next_time() == -5
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    timers.register(10)
    timers.register(20)
    assert timers.next_time() == -5
    assert fired(timers, 20) == [(-5, "a", None), (10, "a", None), (20, "a", None)]
    assert timers.next_time() == 30
    assert fired(timers, 20) == []
    subtask.commit()
    backend = subtask.restart()
    subtask.begin()
    assert backend.event_timers.next_time() == 30
    assert fired(backend.event_timers, 100) == [(30, "a", None)]
    assert backend.event_timers.next_time() is None


def test_ties_fire_in_one_order_wherever_the_timers_are(subtask):
    keys = [f"key {i}" for i in range(20)]
    backend = subtask.begin()
    for key in keys[:10]:
        at(backend, key)
        backend.event_timers.register(5)
        backend.event_timers.register(5, (0, 5))
    subtask.commit()
    subtask.begin()
    for key in keys[10:]:
        at(backend, key)
        backend.event_timers.register(5)
        backend.event_timers.register(5, (0, 5))
    mixed = fired(backend.event_timers, 5)
    backend.abort_epoch()
    backend = subtask.restart()
    subtask.committed, subtask.epoch = (), 0
    subtask.begin()
    for key in reversed(keys):
        at(backend, key)
        backend.event_timers.register(5, (0, 5))
        backend.event_timers.register(5)
    assert fired(backend.event_timers, 5) == mixed
    assert len(mixed) == 40


def test_deleted_timers_do_not_fire(subtask):
    backend = subtask.begin()
    timers = backend.processing_timers
    at(backend, "a")
    for time in (10, 20):
        timers.register(time)
    subtask.commit()
    subtask.begin()
    at(backend, "a")
    timers.register(5)
    timers.delete(5)
    timers.delete(10)
    timers.delete(99)
    assert timers.next_time() == 20
    subtask.commit()
    subtask.begin()
    assert timers.next_time() == 20
    assert fired(timers, 50) == [(20, "a", None)]


def test_a_fired_timer_can_be_registered_again(subtask):
    backend = subtask.begin()
    timers = backend.event_timers
    at(backend, "a")
    timers.register(10)
    subtask.commit()
    subtask.begin()
    assert fired(timers, 10) == [(10, "a", None)]
    at(backend, "a")
    timers.register(10)
    assert fired(timers, 10) == [(10, "a", None)]
    timers.register(10)
    subtask.commit()
    subtask.begin()
    assert fired(timers, 10) == [(10, "a", None)]


def test_the_two_kinds_of_timers_are_apart(subtask):
    backend = subtask.begin()
    at(backend, "a")
    backend.event_timers.register(10)
    assert backend.processing_timers.next_time() is None
    backend.processing_timers.register(7)
    assert fired(backend.event_timers, 100) == [(10, "a", None)]
    assert backend.processing_timers.next_time() == 7


# --- epochs -------------------------------------------------------------------------------------------------


def count_up(subtask, key="a", now=0):
    backend = subtask.begin(now)
    count = backend.get_partitioned_state(COUNT)
    at(backend, key)
    count.update((count.value() or 0) + 1)
    return backend


def value_of(subtask, key="a"):
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    at(backend, key)
    found = count.value()
    backend.abort_epoch()
    return found


def test_an_aborted_epoch_leaves_nothing(subtask):
    count_up(subtask)
    subtask.commit()
    backend = count_up(subtask)
    backend.event_timers.register(1)
    backend.abort_epoch()
    assert value_of(subtask) == 1
    subtask.begin()
    assert backend.event_timers.next_time() is None


def test_an_epoch_that_ended_but_was_not_committed_leaves_nothing(subtask):
    count_up(subtask)
    subtask.commit()
    count_up(subtask)
    subtask.end()  # the driver dies here
    assert value_of(subtask) == 1
    subtask.restart()
    assert value_of(subtask) == 1


def test_another_attempt_of_the_epoch_was_the_committed_one(subtask):
    count_up(subtask)
    subtask.commit()
    count_up(subtask)
    subtask.end()
    mine, other = subtask.backend, subtask.open("memory")
    subtask.backend = other
    backend = subtask.begin()
    count = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    count.update(100)
    subtask.commit()
    subtask.backend = mine
    assert value_of(subtask) == 100


def test_an_epoch_without_changes_was_committed_by_another_attempt_with_changes(subtask):
    count_up(subtask)
    subtask.commit()
    mine = subtask.begin()
    count = mine.get_partitioned_state(COUNT)
    at(mine, "a")
    assert count.value() == 1
    subtask.end()
    subtask.backend = subtask.open("memory")
    count_up(subtask)
    subtask.commit()
    subtask.backend = mine
    assert value_of(subtask) == 2


def test_a_zombie_behind_and_the_live_attempt_do_not_disturb_each_other(subtask):
    count_up(subtask)
    subtask.commit()
    old = (subtask.committed, subtask.epoch)
    count_up(subtask)
    subtask.commit()
    count_up(subtask)
    new = (subtask.end(),)
    live = subtask.backend
    zombie = Subtask(subtask.kind, subtask.local_dir, subtask.files, committed=old[0], epoch=old[1])
    assert value_of(zombie) == 1
    count_up(zombie)
    zombie.end()
    subtask.committed, subtask.epoch, subtask.backend = new, subtask.epoch + 1, live
    assert value_of(subtask) == 3
    zombie.backend.close()


def test_state_of_a_zombie_ahead_of_the_driver_is_not_seen(subtask):
    count_up(subtask)
    subtask.commit()
    kept = (subtask.committed, subtask.epoch)
    count_up(subtask)
    subtask.commit()
    assert value_of(subtask) == 2
    subtask.committed, subtask.epoch = kept  # the job goes back to an older checkpoint
    subtask.restart()
    assert value_of(subtask) == 1
    count_up(subtask)
    subtask.commit()
    count_up(subtask)
    subtask.commit()
    subtask.restart()
    assert value_of(subtask) == 3


def test_either_backend_restores_what_the_other_wrote(subtask):
    for kind in ("memory", "lmdb", "memory", "lmdb"):
        subtask.restart(kind)
        count_up(subtask)
        subtask.backend.event_timers.register(subtask.epoch)
        subtask.commit()
    assert value_of(subtask) == 4
    subtask.begin()
    assert [t.time_ms for t in subtask.backend.event_timers.pop_due(100)] == [0, 1, 2, 3]


def test_a_snapshot_replaces_the_deltas(subtask):
    for _ in range(4):
        count_up(subtask)
        subtask.commit()
    backend = subtask.begin(take_snapshot=True)
    count = backend.get_partitioned_state(COUNT)
    at(backend, "a")
    count.update(count.value() + 1)
    subtask.commit()
    assert len(subtask.committed[0].deltas) == 1 and subtask.committed[0].snapshot is not None
    assert value_of(subtask) == 5
    for path in list(subtask.files.data):
        if path not in {ref.path for ref in subtask.committed[0].files}:
            del subtask.files.data[path]
    assert value_of(subtask) == 5
    for kind in ("memory", "lmdb"):
        subtask.restart(kind)
        assert value_of(subtask) == 5


def test_a_damaged_file_is_named(subtask):
    count_up(subtask)
    subtask.commit()
    path = subtask.committed[0].deltas[0].path
    data = bytearray(subtask.files.data[path])
    data[len(data) // 2] ^= 1
    subtask.files.data[path] = bytes(data)
    fresh = Subtask(subtask.kind, subtask.local_dir + "/other host", subtask.files)
    fresh.committed, fresh.epoch = subtask.committed, subtask.epoch
    with pytest.raises(CheckpointError, match="damaged") as caught:
        fresh.begin()
    assert path in str(caught.value)
    fresh.backend.close()


def test_an_error_while_restoring_leaves_no_half_state(subtask):
    for _ in range(3):
        count_up(subtask)
        subtask.commit()
    good = dict(subtask.files.data)
    del subtask.files.data[subtask.committed[0].deltas[1].path]
    fresh = Subtask(subtask.kind, subtask.local_dir + "/other host", subtask.files)
    fresh.committed, fresh.epoch = subtask.committed, subtask.epoch
    with pytest.raises(CheckpointError, match="missing"):
        fresh.begin()
    subtask.files.data.update(good)
    assert value_of(fresh) == 3
    fresh.backend.close()


def test_cached_objects_stay_bounded(subtask):
    subtask.cached_entries = 50
    for epoch in range(5):
        backend = subtask.begin()
        count = backend.get_partitioned_state(COUNT)
        for key in range(40):
            at(backend, key + epoch * 20)
            count.update((count.value() or 0) + 1)
        subtask.commit()
        assert len(backend._overlay) <= 50
    backend = subtask.begin()
    seen = {}
    for key in range(120):
        at(backend, key)
        seen[key] = count.value()
    assert seen == {key: (1 if key < 20 or key >= 100 else 2) for key in range(120)}


def test_the_end_of_an_epoch_that_did_not_begin_is_an_invariant_broken(subtask):
    count_up(subtask)
    subtask.commit()
    with pytest.raises(InvariantError):
        subtask.backend.end_epoch(2)


# --- rescaling ----------------------------------------------------------------------------------------------


def run_at(parallelism, handles, epoch, kind, tmp, files, step):
    """One epoch of all subtasks at a parallelism; returns the new handles and what `step` returned."""
    committed, results = [], []
    for index in range(parallelism):
        task = Subtask(kind, f"{tmp}/{parallelism}", files, index, parallelism)
        groups = task.groups
        task.committed = tuple(
            h for h in handles if h.first_key_group < groups.stop and h.last_key_group >= groups.start
        )
        task.epoch = epoch
        backend = task.begin()
        results.append(step(backend, groups))
        committed.append(task.end())
        backend.close()
    return tuple(committed), results


def test_state_and_timers_move_with_their_key_groups_when_rescaled(subtask, tmp_path):
    from penstock.common.codecs import compile_codec
    from penstock.common.key_groups import key_group_for

    keys = [f"key {i}" for i in range(60)]
    codec = compile_codec(None)

    def step(backend, groups):
        count = backend.get_partitioned_state(COUNT)
        names = backend.get_partitioned_state(NAMES)
        for key in keys:
            if key_group_for(codec.encode_key(key), MAX_PARALLELISM) in groups:
                at(backend, key)
                count.update((count.value() or 0) + 1)
                names.add(f"{key}#{count.value()}")
                backend.event_timers.register(count.value())
        return dict.fromkeys(backend.keys(COUNT))

    handles, files = (), subtask.files
    for epoch, parallelism in enumerate((1, 2, 3, 2, 1)):
        handles, results = run_at(parallelism, handles, epoch, subtask.kind, tmp_path, files, step)
        assert sorted(key for part in results for key in part) == sorted(keys)

    def look(backend, groups):
        count = backend.get_partitioned_state(COUNT)
        names = backend.get_partitioned_state(NAMES)
        seen = {}
        for key in list(backend.keys(COUNT)):
            at(backend, key)
            seen[key] = (count.value(), names.get())
        return seen, sorted(t.time_ms for t in backend.event_timers.pop_due(100))

    _, results = run_at(1, handles, 5, subtask.kind, tmp_path, files, look)
    seen, times = results[0]
    assert seen == {key: (5, [f"{key}#{n}" for n in range(1, 6)]) for key in keys}
    assert times == sorted(list(range(1, 6)) * len(keys))


def test_a_key_of_another_subtask_is_refused(subtask):
    subtask.parallelism = 8
    backend = subtask.begin()
    with pytest.raises(InvariantError, match="key group"):
        for number in range(100):
            at(backend, number)


# --- compatibility ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", [False, True])
def test_state_of_another_kind_or_type_is_refused(subtask, restart):
    count_up(subtask)
    subtask.commit()
    backend = subtask.restart() if restart else subtask.backend
    subtask.begin()
    with pytest.raises(StateMigrationError, match="count"):
        backend.get_partitioned_state(ListStateDescriptor("count", Types.LONG()))
    with pytest.raises(StateMigrationError, match="count"):
        backend.get_partitioned_state(ValueStateDescriptor("count", Types.STRING()))
    backend.get_partitioned_state(COUNT)


def test_state_declared_before_the_epoch_begins_is_checked_when_it_begins(subtask):
    count_up(subtask)
    subtask.commit()
    subtask.restart().get_partitioned_state(ValueStateDescriptor("count", Types.STRING()))
    with pytest.raises(StateMigrationError, match="count"):
        subtask.begin()


def test_keys_of_another_type_are_refused(subtask):
    count_up(subtask)
    subtask.commit()
    subtask.key_type = Types.STRING()
    subtask.restart()
    with pytest.raises(StateMigrationError, match="keys were"):
        subtask.begin()


def test_the_same_descriptor_gives_the_same_object(subtask):
    backend = subtask.begin()
    assert backend.get_partitioned_state(COUNT) is backend.get_partitioned_state(COUNT)
