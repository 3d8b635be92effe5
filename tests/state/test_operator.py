"""Operator state: lists, union lists and broadcast maps, and how they are re-cut."""

from __future__ import annotations

import pytest

from penstock.common.errors import StateMigrationError
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.state.operator import MemoryOperatorStateBackend

OFFSETS = ListStateDescriptor("offsets", Types.LONG())
UNION = ListStateDescriptor("union", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def snapshots(*lists):
    """One snapshot per former subtask, each with a list, a union list and the same rules."""
    made = []
    for subtask, items in enumerate(lists):
        backend = MemoryOperatorStateBackend(subtask, len(lists))
        backend.get_list_state(OFFSETS).update(items)
        backend.get_union_list_state(UNION).add(f"u{subtask}")
        backend.get_broadcast_state(RULES).put_all({"b": 2, "a": 1})
        made.append(backend.snapshot())
    return made


def restored(former, subtask, parallelism, declared_first=False):
    backend = MemoryOperatorStateBackend(subtask, parallelism)
    if declared_first:
        backend.get_list_state(OFFSETS), backend.get_union_list_state(UNION)
        backend.get_broadcast_state(RULES)
    backend.restore(former, subtask, parallelism)
    return (
        backend.get_list_state(OFFSETS).get(),
        backend.get_union_list_state(UNION).get(),
        backend.get_broadcast_state(RULES).items(),
    )


RULES_ITEMS = [("b", 2), ("a", 1)]


@pytest.mark.parametrize("declared_first", [False, True])
def test_a_subtask_goes_on_from_its_own_snapshot(declared_first):
    former = snapshots([1, 2, 3], [4])
    assert restored(former[:1], 0, 2, declared_first) == ([1, 2, 3], ["u0"], RULES_ITEMS)


def test_lists_are_dealt_out_round_robin_and_nothing_is_lost():
    former = snapshots([1, 2, 3], [4, 5])
    parts = [restored(former, i, 3) for i in range(3)]
    assert [part[0] for part in parts] == [[1, 4], [2, 5], [3]]
    assert all(part[1] == ["u0", "u1"] and part[2] == RULES_ITEMS for part in parts)


def test_scaling_down_to_one_takes_everything():
    assert restored(snapshots([1], [2], [3]), 0, 1)[0] == [1, 2, 3]


def test_all_snapshots_at_the_same_parallelism_keep_lists_in_place():
    former = snapshots([1, 2], [3])
    assert restored(former, 1, 2) == ([3], ["u0", "u1"], RULES_ITEMS)


def test_state_that_is_never_declared_is_kept():
    backend = MemoryOperatorStateBackend(0, 1)
    backend.restore(snapshots([1, 2], [3]), 0, 1)
    again = MemoryOperatorStateBackend(0, 1)
    again.restore([backend.snapshot()], 0, 1)
    assert again.get_list_state(OFFSETS).get() == [1, 2, 3]


def test_no_state_no_snapshot():
    assert MemoryOperatorStateBackend().snapshot() is None


def test_broadcast_state_is_a_map():
    rules = MemoryOperatorStateBackend().get_broadcast_state(RULES)
    rules["a"] = 1
    rules.put("b", None)
    assert "a" in rules and rules.contains("b") and rules.get("b") is None and rules["a"] == 1
    del rules["a"]
    rules.remove("nothing")
    assert rules.keys() == ["b"] and rules.values() == [None] and list(rules) == ["b"]
    rules.clear()
    assert rules.is_empty()


def test_another_kind_or_type_is_refused():
    backend = MemoryOperatorStateBackend()
    backend.restore(snapshots([1]), 0, 1)
    with pytest.raises(StateMigrationError, match="offsets"):
        backend.get_union_list_state(OFFSETS)
    with pytest.raises(StateMigrationError, match="offsets"):
        backend.get_list_state(ListStateDescriptor("offsets", Types.STRING()))
    with pytest.raises(StateMigrationError, match="MapStateDescriptor"):
        backend.get_broadcast_state(ValueStateDescriptor("rules", Types.LONG()))
