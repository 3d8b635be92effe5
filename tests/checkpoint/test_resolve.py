"""Who restores what: decisions alone, no files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.checkpoint.resolve import (
    OperatorDescription,
    SubtaskRestore,
    own_states,
    resolve_restore,
)
from penstock.common.errors import StateMigrationError
from penstock.common.key_groups import key_group_range
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ListStateDescriptor
from penstock.state.operator import MemoryOperatorStateBackend


def handle(subtask, parallelism):
    groups = key_group_range(subtask, 128, parallelism)
    return KeyedStateHandle(7, groups.start, groups.stop - 1, None, (FileRef(f"d{subtask}", 1, "00"),))


def checkpoint(parallelism=2, uid="counter"):
    subtasks = tuple(
        OperatorSubtaskState(handle(i, parallelism), b"o%d" % i, b"f%d" % i, b"r%d" % i)
        for i in range(parallelism)
    )
    operator = OperatorCheckpoint(uid, "Count", parallelism, 128, subtasks)
    source = SourceCheckpoint("source", None, {})
    return CheckpointMetadata(7, "job", "name", 0, {uid: operator}, {"source": source})


def program(parallelism=2, **changes):
    counter = OperatorDescription("counter", "Count", parallelism, 128, keyed=True)
    return [replace(counter, **changes), OperatorDescription("source", "Source", 1, 128)]


def test_a_fresh_start_is_empty_everywhere():
    plan = resolve_restore(None, program(3))
    assert plan.epoch == 0
    assert plan.operators["counter"] == (SubtaskRestore(),) * 3


def test_the_same_parallelism_gives_each_subtask_its_own():
    plan = resolve_restore(checkpoint(2), program(2))
    second = plan.operators["counter"][1]
    assert second.keyed == (handle(1, 2),)
    assert second.operator_states == (b"o1",)
    assert second.states == (checkpoint(2).operators["counter"].subtasks[1],)
    assert plan.epoch == 7 and "source" in plan.sources


def united(subtask, parallelism):
    """What a subtask with a list and a union list leaves."""
    backend = MemoryOperatorStateBackend(subtask, parallelism)
    backend.get_list_state(ListStateDescriptor("list", Types.LONG())).add(subtask)
    backend.get_union_list_state(ListStateDescriptor("union", Types.LONG())).add(subtask)
    return OperatorSubtaskState(operator_state=backend.snapshot())


def lists_of(restore, subtask, parallelism):
    backend = MemoryOperatorStateBackend(subtask, parallelism)
    backend.restore(restore.operator_states, subtask, parallelism)
    return (
        backend.get_list_state(ListStateDescriptor("list", Types.LONG())).get(),
        backend.get_union_list_state(ListStateDescriptor("union", Types.LONG())).get(),
    )


def test_the_same_parallelism_gives_each_subtask_all_union_lists_and_its_own_list():
    plain = OperatorSubtaskState()  # a subtask that has saved nothing gets the union, and nobody's list
    states = (united(0, 3), united(1, 3), plain)
    before = replace(
        checkpoint(3), operators={"counter": OperatorCheckpoint("counter", "Count", 3, 128, states)}
    )
    restores = resolve_restore(before, program(3)).operators["counter"]
    assert [lists_of(r, i, 3) for i, r in enumerate(restores)] == [([0], [0, 1]), ([1], [0, 1]), ([], [0, 1])]


def test_a_subtask_that_goes_on_after_an_epoch_gets_all_union_lists_and_its_own_list():
    restores = own_states((united(0, 2), united(1, 2)))
    assert [lists_of(r, i, 2) for i, r in enumerate(restores)] == [([0], [0, 1]), ([1], [0, 1])]
    assert [len(r.operator_states) for r in own_states((united(0, 2), OperatorSubtaskState()))] == [1, 1]


def test_without_union_lists_a_subtask_gets_its_own_operator_state_only():
    backend = MemoryOperatorStateBackend(0, 2)
    backend.get_list_state(ListStateDescriptor("list", Types.LONG())).add(7)
    first, second = own_states(
        (OperatorSubtaskState(operator_state=backend.snapshot()), OperatorSubtaskState())
    )
    assert len(first.operator_states) == 1 and second.operator_states == ()


def test_another_parallelism_gives_overlapping_handles_and_all_operator_states():
    plan = resolve_restore(checkpoint(2), program(3))
    first, middle, last = plan.operators["counter"]
    assert first.keyed == (handle(0, 2),)
    assert middle.keyed == (handle(0, 2), handle(1, 2))
    assert last.keyed == (handle(1, 2),)
    assert first.operator_states == middle.operator_states == last.operator_states == (b"o0", b"o1")


@pytest.mark.parametrize(("before", "after"), [(1, 3), (2, 3), (3, 1), (3, 2), (5, 2)])
def test_another_parallelism_gives_each_former_runtime_state_to_exactly_one_subtask(before, after):
    plan = resolve_restore(checkpoint(before), program(after))
    taken = [state for restore in plan.operators["counter"] for state in restore.states]
    assert sorted(s.runtime_state for s in taken) == [b"r%d" % i for i in range(before)]


def test_another_parallelism_lets_each_subtask_of_a_source_look_through_all_runtime_states():
    metadata = checkpoint(3)
    metadata.operators["counter"] = replace(
        metadata.operators["counter"],
        subtasks=tuple(OperatorSubtaskState(None, None, None, b"r%d" % i) for i in range(3)),
    )
    plan = resolve_restore(metadata, program(2, keyed=False, is_source=True))
    for restore in plan.operators["counter"]:
        assert [s.runtime_state for s in restore.states] == [b"r0", b"r1", b"r2"]


def test_state_without_an_operator_is_an_error_unless_allowed():
    operators = program(uid="renamed")
    with pytest.raises(StateMigrationError, match=r"'counter' \(Count\)") as caught:
        resolve_restore(checkpoint(), operators)
    assert "ignore-unclaimed-state" in str(caught.value)
    plan = resolve_restore(checkpoint(), operators, allow_non_restored=True)
    assert plan.dropped == ("counter",) and "renamed" in plan.starting_empty
    assert plan.operators["renamed"][0].keyed == ()


def test_a_source_without_an_operator_is_an_error_too():
    with pytest.raises(StateMigrationError, match="'source'"):
        resolve_restore(checkpoint(), program()[:1])


def test_an_operator_without_state_may_vanish():
    metadata = checkpoint()
    metadata.operators["map"] = OperatorCheckpoint("map", "Map", 1, 128, (OperatorSubtaskState(),))
    assert resolve_restore(metadata, program()).dropped == ()


def test_a_changed_max_parallelism_is_an_error():
    with pytest.raises(StateMigrationError, match="max parallelism 64") as caught:
        resolve_restore(checkpoint(), program(max_parallelism=64))
    assert "set_max_parallelism(128)" in str(caught.value)


def test_keyed_state_of_an_operator_that_is_not_keyed_any_more_is_an_error():
    with pytest.raises(StateMigrationError, match="not keyed any more"):
        resolve_restore(checkpoint(), program(keyed=False))


def test_new_subtasks_of_an_operator_that_has_ended_know_that_it_has():
    """Else they would wait for the end of an input that nobody sends again."""
    metadata = checkpoint(2)
    operator = metadata.operators["counter"]
    ended = replace(operator, subtasks=tuple(replace(s, ended=True) for s in operator.subtasks))
    plan = resolve_restore(replace(metadata, operators={"counter": ended}), program(5))
    assert [restore.states[0].runtime_state for restore in plan.operators["counter"]] == [
        b"r0", b"r1", b"r0", b"r1", b"r0",
    ]  # fmt: skip


def test_no_new_subtask_has_ended_if_one_of_the_former_had_not():
    """What waits for the one that has not ended may belong to any of the new ones."""
    metadata = checkpoint(2)
    operator = metadata.operators["counter"]
    half = replace(
        operator,
        subtasks=(
            replace(operator.subtasks[0], ended=True),
            replace(operator.subtasks[1], waiting=b"elements"),
        ),
    )
    plan = resolve_restore(replace(metadata, operators={"counter": half}), program(3))
    assert [len(restore.states) for restore in plan.operators["counter"]] == [0, 1, 0]
    assert [restore.waiting for restore in plan.operators["counter"]] == [(b"elements",)] * 3
