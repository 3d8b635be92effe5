"""Random operations with random epoch cuts, aborts, kills and restarts equal a plain dict model.

The model keeps two copies: what is committed and what the running epoch made of it. Whatever happens between
epochs, the backend must show the same as the model.
"""

from __future__ import annotations

import copy

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.common.typeinfo import Types
from penstock.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from tests.state.conftest import Subtask

VALUE = ValueStateDescriptor("value", Types.LONG())
LIST = ListStateDescriptor("list", Types.LONG())
MAP = MapStateDescriptor("map", Types.PICKLED_BYTE_ARRAY(), Types.LONG())
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())

KEYS = ["a", 1, True, ("t", 1), "long" * 60]
WINDOWS = [None, (0, 10), (10, 20), "w" * 150]
keys = st.sampled_from(KEYS)
map_keys = st.sampled_from(["x", 1, True, ("p", 2), "y" * 200])
windows = st.sampled_from(WINDOWS)
numbers = st.integers(-5, 5)
times = st.integers(-20, 20)


def tag(key):
    return (type(key).__name__, repr(key))


class Model:
    """State as one would write it without thinking: dicts of dicts."""

    def __init__(self):
        self.values, self.lists, self.maps, self.sums, self.timers = {}, {}, {}, {}, set()


class BackendMachine(RuleBasedStateMachine):
    kinds = ("memory", "lmdb")

    @initialize(kind=st.sampled_from(kinds))
    def start(self, kind):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.task = Subtask(kind, self.folder.name, cached_entries=4)
        self.committed, self.model = Model(), Model()
        self.begin()

    def teardown(self):
        if hasattr(self, "task"):
            self.task.backend.close()
            self.folder.cleanup()

    def begin(self, take_snapshot=False):
        backend = self.task.begin(0, take_snapshot)
        self.backend = backend
        self.value = backend.get_partitioned_state(VALUE)
        self.list = backend.get_partitioned_state(LIST, namespaced=True)
        self.map = backend.get_partitioned_state(MAP)
        self.sum = backend.get_partitioned_state(SUM, namespaced=True)

    def at(self, key, window=None):
        self.backend.set_current_key(key)
        self.backend.set_current_namespace(window)
        return tag(key), tag(window)

    @rule(key=keys, number=st.none() | numbers)
    def update(self, key, number):
        place = self.at(key)
        self.value.update(number)
        self.model.values[place] = number

    @rule(key=keys)
    def read_value(self, key):
        assert self.value_of(key) == self.model.values.get((tag(key), tag(None)))

    def value_of(self, key):
        self.at(key)
        return self.value.value()

    @rule(key=keys, window=windows, added=st.lists(numbers, max_size=3))
    def add_all(self, key, window, added):
        place = self.at(key, window)
        self.list.add_all(added)
        self.model.lists.setdefault(place, []).extend(added)

    @rule(key=keys, window=windows, whole=st.lists(numbers, max_size=2))
    def replace_list(self, key, window, whole):
        place = self.at(key, window)
        self.list.update(whole)
        self.model.lists[place] = list(whole)

    @rule(key=keys, window=windows)
    def read_list(self, key, window):
        place = self.at(key, window)
        assert self.list.get() == self.model.lists.get(place, [])

    @rule(key=keys, window=windows, number=numbers)
    def add_to_sum(self, key, window, number):
        place = self.at(key, window)
        self.sum.add(number)
        self.model.sums[place] = self.model.sums.get(place, 0) + number

    @rule(key=keys)
    def merge(self, key):
        place, target = tag(key), tag((0, 10))
        self.at(key)
        self.backend.merge_namespaces(LIST, (0, 10), [(10, 20)])
        self.backend.merge_namespaces(SUM, (0, 10), [(10, 20)])
        moved = self.model.lists.pop((place, tag((10, 20))), [])
        if moved:
            self.model.lists.setdefault((place, target), []).extend(moved)
        added = self.model.sums.pop((place, tag((10, 20))), None)
        if added is not None:
            self.model.sums[place, target] = self.model.sums.get((place, target), 0) + added

    @rule(key=keys, name=map_keys, number=numbers)
    def put(self, key, name, number):
        place = self.at(key)
        self.map.put(name, number)
        self.model.maps.setdefault(place, {})[tag(name)] = number

    @rule(key=keys, name=map_keys)
    def remove(self, key, name):
        place = self.at(key)
        self.map.remove(name)
        self.model.maps.get(place, {}).pop(tag(name), None)
        assert self.map.is_empty() == (not self.model.maps.get(place))

    @rule(key=keys, name=map_keys)
    def get(self, key, name):
        place = self.at(key)
        assert self.map.get(name) == self.model.maps.get(place, {}).get(tag(name))
        assert self.map.contains(name) == (tag(name) in self.model.maps.get(place, {}))

    @rule(key=keys)
    def clear_map(self, key):
        place = self.at(key)
        self.map.clear()
        self.model.maps.pop(place, None)

    @rule(key=keys)
    def read_map(self, key):
        place = self.at(key)
        assert {tag(k): v for k, v in self.map.items()} == self.model.maps.get(place, {})

    @rule(key=keys, window=windows, time=times)
    def register(self, key, window, time):
        place = self.at(key, window)
        self.backend.event_timers.register(time, window)
        self.model.timers.add((time, place))

    @rule(key=keys, window=windows, time=times)
    def delete(self, key, window, time):
        place = self.at(key, window)
        self.backend.event_timers.delete(time, window)
        self.model.timers.discard((time, place))

    @rule(time=times)
    def fire(self, time):
        due = self.backend.event_timers.pop_due(time)
        assert [t.time_ms for t in due] == sorted(t.time_ms for t in due)
        fired = [(t.time_ms, (tag(t.key), tag(t.namespace))) for t in due]
        assert len(fired) == len(set(fired))
        assert set(fired) == {timer for timer in self.model.timers if timer[0] <= time}
        self.model.timers -= set(fired)

    def look_at_everything(self):
        for key in KEYS:
            self.read_value(key)
            self.read_map(key)
            for window in WINDOWS:
                self.read_list(key, window)
                place = self.at(key, window)
                assert self.sum.get() == self.model.sums.get(place)

    @rule(
        restart=st.sampled_from([None, None, "memory", "lmdb"]),
        take_snapshot=st.booleans(),
        kept=st.none() | st.integers(0, 2),
        look=st.booleans(),
    )
    def commit(self, restart, take_snapshot, kept, look):
        self.task.commit()
        if kept is not None:
            self.task.compact(kept)
        self.committed = copy.deepcopy(self.model)
        if restart:
            self.task.restart(restart)
        self.begin(take_snapshot)
        if look:
            self.look_at_everything()

    @rule(how=st.sampled_from(["abort", "end", "kill"]), look=st.booleans())
    def lose_the_epoch(self, how, look):
        if how == "abort":
            self.backend.abort_epoch()
        elif how == "end":
            self.task.end()
        else:
            self.task.restart()
        self.model = copy.deepcopy(self.committed)
        self.begin()
        if look:
            self.look_at_everything()

    @invariant()
    def next_timer_is_known(self):
        if hasattr(self, "model"):
            expected = min((time for time, _ in self.model.timers), default=None)
            assert self.backend.event_timers.next_time() == expected

    @invariant()
    def keys_are_those_with_a_value(self):
        if hasattr(self, "model"):
            expected = sorted(place[0] for place, value in self.model.values.items() if value is not None)
            assert sorted(tag(key) for key in self.backend.keys(VALUE)) == expected


TestBackendsAgainstTheModel = BackendMachine.TestCase
TestBackendsAgainstTheModel.settings = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
