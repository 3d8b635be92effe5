"""State whose declared type has changed since it was written."""

from __future__ import annotations

import pytest

from penstock.common.errors import StateMigrationError
from penstock.common.evolution import Incompatible, evolution
from penstock.common.time import Time
from penstock.common.typeinfo import Types
from penstock.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.state.operator import MemoryOperatorStateBackend

OLD = Types.ROW_NAMED(["id", "name", "gone"], [Types.INT(), Types.STRING(), Types.LONG()])
NEW = Types.ROW_NAMED(
    ["name", "id", "tags", "age"],
    [Types.STRING(), Types.LONG(), Types.LIST(Types.STRING()), Types.DOUBLE()],
)
LONG_KEY = "k" * 300


def written(subtask, ttl=False):
    """Three kinds of state of the old type, in two epochs, under two keys."""
    for epoch in range(2):
        backend = subtask.begin(1000)
        value, items, entries = states(backend, OLD, ttl)
        for key in ("a", LONG_KEY):
            backend.set_current_key(key)
            value.update((epoch, f"n{epoch}", 5))
            items.add((epoch, "item", 5))
            entries.put("m" * 200, (epoch, "entry", 5))
            entries.put("none", None)
        subtask.commit()


def states(backend, kind, ttl=False):
    descriptors = [
        ValueStateDescriptor("value", kind),
        ListStateDescriptor("items", kind),
        MapStateDescriptor("entries", Types.STRING(), kind),
    ]
    if ttl:
        for descriptor in descriptors:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return [backend.get_partitioned_state(d) for d in descriptors]


def shown(backend, key, kind=NEW, ttl=False):
    backend.set_current_key(key)
    value, items, entries = states(backend, kind, ttl)
    found = value.value()
    return (
        None if found is None else list(found),
        [list(row) for row in items.get()],
        {k: v if v is None else list(v) for k, v in entries.items()},
    )


EXPECTED = (
    ["n1", 1, None, None],
    [["item", 0, None, None], ["item", 1, None, None]],
    {"m" * 200: ["entry", 1, None, None], "none": None},
)


@pytest.mark.parametrize("ttl", [False, True])
def test_rows_get_new_fields_lose_old_ones_and_become_wider(subtask, ttl):
    written(subtask, ttl)
    subtask.restart()
    for key in ("a", LONG_KEY):
        assert shown(subtask.begin(2000), key, ttl=ttl) == EXPECTED
    subtask.commit()
    assert shown(subtask.begin(3000), "a", ttl=ttl) == EXPECTED  # the same process goes on
    subtask.restart()
    assert shown(subtask.begin(3000), LONG_KEY, ttl=ttl) == EXPECTED  # and one that starts anew


def test_what_the_epoch_changes_itself_counts_more_than_the_migration(subtask):
    written(subtask)
    subtask.restart()
    backend = subtask.begin()
    backend.set_current_key("a")
    value, items, entries = states(backend, NEW)
    value.update(("new", 1 << 40, ["x"], 0.5))
    items.add(("added", 2, None, None))
    entries.remove("none")
    subtask.commit()
    subtask.restart()
    assert shown(subtask.begin(), "a") == (
        ["new", 1 << 40, ["x"], 0.5],
        [*EXPECTED[1], ["added", 2, None, None]],
        {"m" * 200: ["entry", 1, None, None]},
    )
    assert shown(subtask.begin(), LONG_KEY) == EXPECTED


def test_an_epoch_that_is_given_up_leaves_the_former_records(subtask):
    written(subtask)
    subtask.restart()
    assert shown(subtask.begin(), "a") == EXPECTED
    subtask.backend.abort_epoch()
    assert shown(subtask.begin(), "a") == EXPECTED
    subtask.end()  # written, never committed
    subtask.restart()
    subtask.begin()
    value = states(subtask.backend, OLD)[0]
    subtask.backend.set_current_key("a")
    assert list(value.value()) == [1, "n1", 5]


def test_a_snapshot_in_the_epoch_of_the_migration_and_later_is_right(subtask):
    written(subtask)
    subtask.restart()
    assert shown(subtask.begin(take_snapshot=True), "a") == EXPECTED
    subtask.commit()
    subtask.begin(take_snapshot=True)
    subtask.commit()
    subtask.restart()
    assert shown(subtask.begin(), "a") == EXPECTED


def test_an_incompatible_change_shows_both_schemas_and_the_place(subtask):
    written(subtask)
    subtask.restart()
    other = Types.ROW_NAMED(["id", "name"], [Types.STRING(), Types.STRING()])
    with pytest.raises(StateMigrationError) as caught:
        states(subtask.begin(), other)
    text = str(caught.value)
    assert 'ROW<"id" INT,"name" STRING,"gone" LONG>' in text
    assert 'ROW<"id" STRING,"name" STRING>' in text
    assert "field 'id' of the value was Integer and is String" in text


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (Types.LONG(), Types.INT()),
        (Types.DOUBLE(), Types.FLOAT()),
        (Types.INT(), Types.DOUBLE()),
        (Types.TUPLE([Types.INT()]), Types.TUPLE([Types.INT(), Types.INT()])),
        (Types.MAP(Types.INT(), Types.INT()), Types.MAP(Types.LONG(), Types.INT())),
        (Types.LIST(Types.STRING()), Types.LIST(Types.INT())),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["b", "c"], [Types.INT(), Types.INT()])),
    ],
)
def test_other_types_are_incompatible(then, now):
    with pytest.raises(Incompatible):
        evolution(then, now)


def test_rows_are_found_wherever_they_are():
    inside = Types.MAP(Types.STRING(), Types.LIST(Types.TUPLE([OLD, Types.INT()])))
    outside = Types.MAP(Types.STRING(), Types.LIST(Types.TUPLE([NEW, Types.LONG()])))
    changed = evolution(inside, outside)({"k": [((1, "a", 2), 3), (None, 4)]})
    (first, number), second = changed["k"]
    assert (list(first), number, second) == (["a", 1, None, None], 3, (None, 4))


def test_operator_and_broadcast_state_change_with_their_types():
    backend = MemoryOperatorStateBackend()
    backend.get_list_state(ListStateDescriptor("list", OLD)).add((1, "a", 2))
    backend.get_broadcast_state(MapStateDescriptor("rules", Types.STRING(), OLD)).put("k", (1, "a", 2))
    saved = backend.snapshot()
    again = MemoryOperatorStateBackend()
    again.restore([saved], 0, 1)
    [row] = again.get_list_state(ListStateDescriptor("list", NEW)).get()
    assert list(row) == ["a", 1, None, None]
    rules = again.get_broadcast_state(MapStateDescriptor("rules", Types.STRING(), NEW))
    assert list(rules.get("k")) == ["a", 1, None, None]
    again.restore([again.snapshot()], 0, 1)
    assert list(rules.get("k")) == ["a", 1, None, None]
    other = MemoryOperatorStateBackend()
    other.restore([saved], 0, 1)
    with pytest.raises(StateMigrationError, match="the value was"):
        other.get_list_state(ListStateDescriptor("list", Types.LONG()))
