"""Broadcast state: who may change it, who sees it."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.operators.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.testing import KeyedTwoInputOperatorTestHarness, TwoInputOperatorTestHarness

RATES = MapStateDescriptor("rates", Types.STRING(), Types.INT())


class Convert(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.get_broadcast_state(RATES).get(value)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RATES).put(*value)


class Meddling(Convert):
    def process_element(self, value, ctx):
        ctx.get_broadcast_state(RATES).put(value, 1)


def test_data_elements_see_what_broadcast_elements_have_put():
    harness = TwoInputOperatorTestHarness(BroadcastProcessOperator(Convert(), [RATES]))
    harness.process_element1("eur")
    harness.process_element2(("eur", 2))
    harness.process_element1("eur")
    again = TwoInputOperatorTestHarness(
        BroadcastProcessOperator(Convert(), [RATES]), restore=harness.snapshot()
    )
    again.process_element1("eur")
    assert harness.extract_output_values() == [("eur", None), ("eur", 2)]
    assert again.extract_output_values() == [("eur", 2)]


def test_the_data_side_may_not_change_broadcast_state():
    harness = TwoInputOperatorTestHarness(BroadcastProcessOperator(Meddling(), [RATES]))
    with pytest.raises(ValidationError, match=r"read-only here: put\(\)"):
        harness.process_element1("eur")


class Reset(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.descriptor = ValueStateDescriptor("count", Types.INT())
        self.count = runtime_context.get_state(self.descriptor)

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(10)

    def process_broadcast_element(self, value, ctx):
        ctx.apply_to_keyed_state(self.descriptor, lambda key, state: state.update(state.value() * value))

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.count.value()


def test_a_broadcast_element_may_go_over_all_keys_of_a_state():
    operator = KeyedBroadcastProcessOperator(Reset(), [RATES], lambda v: v)
    harness = KeyedTwoInputOperatorTestHarness(operator)
    for value in ("a", "b", "a"):
        harness.process_element1(value, 1)
    harness.cut()
    harness.process_element1("c", 1)
    harness.process_element2(100, 1)
    harness.process_both_watermarks(10)
    assert sorted(harness.extract_output_values()) == [("a", 200), ("b", 100), ("c", 100)]
