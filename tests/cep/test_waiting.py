"""Events that wait for the watermark: order across epochs, what a restore finds, what is left in state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cep import Pattern, PatternProcessFunction
from penstock.cep.operator import CepOperator
from penstock.common import Types
from penstock.state.files import META_TABLE
from penstock.testing import KeyedOneInputOperatorTestHarness

EVENT = Types.TUPLE([Types.STRING(), Types.INT()])


class Note(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield match["any"][0]


def harness(event_type: Any = EVENT, **options: Any) -> KeyedOneInputOperatorTestHarness:
    operator = CepOperator(Note(), Pattern.begin("any"), lambda event: event[0], event_type=event_type)
    return KeyedOneInputOperatorTestHarness(operator, key_type=Types.STRING(), **options)


def of_key(h: KeyedOneInputOperatorTestHarness, key: str) -> list[int]:
    return [number for name, number in h.extract_output_values() if name == key]


@pytest.mark.parametrize("event_type", [EVENT, None], ids=["typed", "untyped"])
@pytest.mark.parametrize("restored", [False, True], ids=["going on", "restored"])
def test_events_of_one_time_stay_in_order_over_epochs(restored: bool, event_type: Any) -> None:
    h = harness(event_type)
    for number, time in enumerate((10, 20, 10, 5, 10)):  # the pieces of later epochs begin at earlier times
        h.process_element(("k", number), time)
        h.process_element(("other", number), time - 4)
        if restored:
            h = harness(event_type, restore=h.snapshot())
        else:
            h.cut()
    h.process_watermark(7)
    assert of_key(h, "k") == [3]
    if restored:
        h.clear_output()
        h = harness(event_type, restore=h.snapshot())
    else:
        h.cut()
    h.process_element(("k", 5), 10)
    h.process_watermark(100)
    assert of_key(h, "k")[-5:] == [0, 2, 4, 5, 1]


def test_a_watermark_that_passes_half_a_piece_leaves_the_rest() -> None:
    h = harness()
    for time in range(1, 201):
        h.process_element(("k", time), time)
    h.cut()
    h.process_watermark(70)
    h.cut()
    h.process_watermark(71)
    assert of_key(h, "k") == list(range(1, 72))
    h.process_watermark(200)
    assert of_key(h, "k") == list(range(1, 201))


def test_waiting_events_go_where_their_keys_go() -> None:
    first = harness()
    keys = [f"key {number}" for number in range(40)]
    for number, key in enumerate(keys):
        first.process_element((key, number), 10 + number % 3)
    saved = first.snapshot()
    subtasks = [harness(restore=saved, subtask=n, parallelism=3) for n in range(3)]
    for subtask in subtasks:
        subtask.process_watermark(50)
    found = [subtask.extract_output_values() for subtask in subtasks]
    assert sorted(number for part in found for _, number in part) == list(range(40))
    assert all(found)


def test_nothing_is_left_of_events_that_have_met_the_automaton() -> None:
    h = harness()
    for epoch in range(50):
        for number in range(10):
            h.process_element((f"key {number}", epoch), epoch * 10 + 20)
        h.process_watermark(epoch * 10)
        h.cut()
    h.process_watermark(10_000)
    h.cut()
    backend: Any = h.context.keyed_state
    assert [table for table in backend._store.tables() if any(backend._store.scan(table, b""))] == [
        META_TABLE
    ]
    remembered = [
        slot for entry in backend._overlay.all_entries() for slot in entry.slots if hasattr(slot, "live")
    ]
    assert remembered and not any(slot.live for slot in remembered)
