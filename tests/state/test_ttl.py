"""Time to live: judged by the epoch's processing time, per value, list element and map entry."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.common.time import Duration, Time
from penstock.common.typeinfo import Types
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


def config(**settings):
    builder = StateTtlConfig.new_builder(Time.milliseconds(100))
    if settings.get("on_read"):
        builder.update_ttl_on_read_and_write()
    if settings.get("relaxed"):
        builder.return_expired_if_not_cleaned_up()
    if settings.get("snapshot"):
        builder.cleanup_full_snapshot()
    if settings.get("incremental"):
        builder.cleanup_incrementally(settings["incremental"], False)
    else:
        builder.disable_cleanup_in_background()
    return builder.build()


def value(name="v", ttl=None):
    descriptor = ValueStateDescriptor(name, Types.LONG())
    if ttl is not None:
        descriptor.enable_time_to_live(ttl)
    return descriptor


def with_ttl(descriptor, ttl):
    descriptor.enable_time_to_live(ttl)
    return descriptor


def epoch(subtask, descriptor, now, work, key="a"):
    """One committed epoch at a processing time; returns what `work` returned."""
    backend = subtask.begin(now)
    state = backend.get_partitioned_state(descriptor)
    backend.set_current_key(key)
    result = work(state)
    subtask.commit()
    return result


def records(subtask):
    """How many records of user state are committed, seen by a fresh process."""
    subtask.restart()
    backend = subtask.begin()
    store = backend._store
    count = sum(len(list(store.scan(t, b""))) for t in store.tables() if t.startswith("s/"))
    backend.abort_epoch()
    return count


def test_a_value_expires_after_its_last_write(subtask):
    descriptor = value(ttl=config())
    epoch(subtask, descriptor, 1000, lambda s: s.update(1))
    assert epoch(subtask, descriptor, 1099, lambda s: s.value()) == 1
    assert epoch(subtask, descriptor, 1100, lambda s: s.value()) is None
    assert records(subtask) == 0


def test_reading_prolongs_life_only_if_asked_to(subtask):
    for on_read, expected in ((False, None), (True, 1)):
        descriptor = value(f"v{on_read}", config(on_read=on_read))
        epoch(subtask, descriptor, 1000, lambda s: s.update(1))
        epoch(subtask, descriptor, 1080, lambda s: s.value())
        subtask.restart()
        assert epoch(subtask, descriptor, 1120, lambda s: s.value()) == expected


def test_expired_values_are_returned_once_if_that_is_allowed(subtask):
    descriptor = value(ttl=config(relaxed=True))
    epoch(subtask, descriptor, 1000, lambda s: s.update(1))
    assert epoch(subtask, descriptor, 2000, lambda s: (s.value(), s.value())) == (1, None)


def test_list_elements_expire_one_by_one(subtask):
    descriptor = with_ttl(ListStateDescriptor("l", Types.STRING()), config())
    epoch(subtask, descriptor, 1000, lambda s: s.add("old"))
    epoch(subtask, descriptor, 1050, lambda s: s.add_all(["new", "newer"]))
    subtask.restart()
    assert epoch(subtask, descriptor, 1099, lambda s: s.get()) == ["old", "new", "newer"]
    assert epoch(subtask, descriptor, 1100, lambda s: s.get()) == ["new", "newer"]
    assert epoch(subtask, descriptor, 1150, lambda s: s.get()) == []
    assert records(subtask) == 0


def test_map_entries_expire_one_by_one(subtask):
    descriptor = with_ttl(MapStateDescriptor("m", Types.STRING(), Types.LONG()), config())
    epoch(subtask, descriptor, 1000, lambda s: s.put("old", 1))
    epoch(subtask, descriptor, 1050, lambda s: s.put("new", 2))
    subtask.restart()

    def look(s):
        return s.contains("old"), s.get("new"), s.items(), s.is_empty()

    assert epoch(subtask, descriptor, 1100, look) == (False, 2, [("new", 2)], False)
    assert epoch(subtask, descriptor, 1200, look) == (False, None, [], True)
    assert records(subtask) == 0


def test_map_reads_prolong_the_entries_they_touch(subtask):
    descriptor = with_ttl(MapStateDescriptor("m", Types.STRING(), Types.LONG()), config(on_read=True))
    epoch(subtask, descriptor, 1000, lambda s: s.put_all({"a": 1, "b": 2}))
    epoch(subtask, descriptor, 1060, lambda s: s.get("a"))
    assert epoch(subtask, descriptor, 1110, lambda s: s.items()) == [("a", 1)]


def test_reducing_and_aggregating_state_start_over_when_expired(subtask):
    class Count:
        def create_accumulator(self):
            return 0

        def add(self, value, accumulator):
            return accumulator + 1

        def get_result(self, accumulator):
            return accumulator

    for descriptor in (
        ReducingStateDescriptor("r", lambda a, b: a + b, Types.LONG()),
        AggregatingStateDescriptor("g", Count(), Types.LONG()),
    ):
        descriptor.enable_time_to_live(config())
        epoch(subtask, descriptor, 1000, lambda s: (s.add(1), s.add(1)))
        assert epoch(subtask, descriptor, 1050, lambda s: s.get()) == 2
        epoch(subtask, descriptor, 1200, lambda s: s.add(1))
        assert epoch(subtask, descriptor, 1201, lambda s: s.get()) == 1


def test_a_full_snapshot_leaves_expired_state_out(subtask):
    descriptor = value(ttl=config(snapshot=True))
    for key in range(10):
        epoch(subtask, descriptor, 1000 + key * 10, lambda s: s.update(1), key=key)
    backend = subtask.begin(1145, take_snapshot=True)
    backend.get_partitioned_state(descriptor)
    subtask.commit()
    assert records(Fresh(subtask)) == 5


class Fresh:
    """The same committed state on a host that has no copy of it."""

    def __new__(cls, subtask):
        from tests.state.conftest import Subtask

        made = Subtask("memory", subtask.local_dir + "/elsewhere", subtask.files)
        made.committed, made.epoch = subtask.committed, subtask.epoch
        return made


def test_incremental_cleanup_removes_what_nobody_reads(subtask):
    descriptor = value(ttl=config(incremental=4))
    backend = subtask.begin(1000)
    state = backend.get_partitioned_state(descriptor)
    for key in range(20):
        backend.set_current_key(key)
        state.update(1)
    subtask.commit()
    for number in range(7):
        epoch(subtask, descriptor, 5000 + number, lambda s: s.update(1), key="busy")
    assert records(subtask) == 1


def test_keys_leaves_expired_ones_out(subtask):
    descriptor = value(ttl=config())
    epoch(subtask, descriptor, 1000, lambda s: s.update(1), key="old")
    epoch(subtask, descriptor, 1090, lambda s: s.update(1), key="new")
    backend = subtask.begin(1120)
    assert list(backend.keys(descriptor)) == ["new"]


@pytest.mark.parametrize("kind", ["value", "list", "map"])
def test_a_time_to_live_can_be_turned_on_and_off_between_runs(subtask, kind):
    def descriptor(ttl):
        made = {
            "value": lambda: ValueStateDescriptor("s", Types.LONG()),
            "list": lambda: ListStateDescriptor("s", Types.LONG()),
            "map": lambda: MapStateDescriptor("s", Types.STRING(), Types.LONG()),
        }[kind]()
        return with_ttl(made, config()) if ttl else made

    write = {
        "value": lambda s: s.update(1),
        "list": lambda s: s.update([1]),
        "map": lambda s: s.put("x", 1),
    }[kind]
    read = {"value": lambda s: s.value(), "list": lambda s: s.get(), "map": lambda s: s.items()}[kind]
    there = {"value": 1, "list": [1], "map": [("x", 1)]}[kind]
    epoch(subtask, descriptor(False), 0, write)
    subtask.restart()
    assert epoch(subtask, descriptor(True), 5000, read) == there
    epoch(subtask, descriptor(True), 5000, write)
    subtask.restart()
    assert epoch(subtask, descriptor(False), 9000, read) == there


def test_a_disabled_config_means_no_time_to_live(subtask):
    descriptor = value(
        ttl=StateTtlConfig.new_builder(Duration.of_millis(1))
        .set_update_type(StateTtlConfig.UpdateType.Disabled)
        .build()
    )
    epoch(subtask, descriptor, 0, lambda s: s.update(1))
    assert epoch(subtask, descriptor, 10_000, lambda s: s.value()) == 1


def test_a_time_to_live_must_be_positive():
    with pytest.raises(ValidationError, match="0 ms"):
        StateTtlConfig.new_builder(Time.milliseconds(0)).build()


def test_the_builder_has_flinks_defaults():
    built = StateTtlConfig.new_builder(Time.hours(1)).build()
    assert built.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert built.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert built.get_cleanup_strategies().is_cleanup_in_background()
    assert built.get_cleanup_strategies().get_incremental_cleanup_strategy().get_cleanup_size() == 5
    assert not built.get_cleanup_strategies().in_full_snapshot()
