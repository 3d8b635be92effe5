"""Who restores what: decisions alone, no files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint, SourceCheckpoint
from penstock.checkpoint.resolve import OperatorDescription, resolve_restore
from penstock.common.errors import StateMigrationError
from penstock.common.key_groups import key_group_range


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
    assert [s.keyed for s in plan.operators["counter"]] == [(), (), ()]
    assert [(s.first_key_group, s.last_key_group) for s in plan.operators["counter"]] == [
        (0, 42),
        (43, 85),
        (86, 127),
    ]


def test_the_same_parallelism_gives_each_subtask_its_own():
    plan = resolve_restore(checkpoint(2), program(2))
    second = plan.operators["counter"][1]
    assert second.keyed == (handle(1, 2),)
    assert (second.operator_states, second.function_states, second.runtime_states) == (
        (b"o1",),
        (b"f1",),
        (b"r1",),
    )
    assert not second.rescaled and plan.epoch == 7 and "source" in plan.sources


def test_another_parallelism_gives_overlapping_handles_and_all_operator_states():
    plan = resolve_restore(checkpoint(2), program(3))
    first, middle, last = plan.operators["counter"]
    assert first.keyed == (handle(0, 2),)
    assert middle.keyed == (handle(0, 2), handle(1, 2))
    assert last.keyed == (handle(1, 2),)
    assert middle.operator_states == (b"o0", b"o1") and middle.rescaled


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
