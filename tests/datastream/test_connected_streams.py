"""Functions with two inputs."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.graph.transformations import PartitionerKind, PartitionTransformation
from penstock.operators.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.operators.co import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoMapOperator,
    KeyedCoProcessOperator,
)
from tests.datastream.programs import new_env, operator_of

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return ("left", value)

    def map2(self, value: Any) -> Any:
        return ("right", value)


class FlatBoth(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        yield value

    def flat_map2(self, value: Any) -> Any:
        yield value


class ProcessBoth(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class KeyedBoth(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedRules(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)


def two_streams() -> tuple[Any, Any]:
    env = new_env(1)
    return env.from_collection([1, 2], Types.INT()), env.from_collection(["a"], Types.STRING())


def test_connected_streams_without_keys():
    first, second = two_streams()
    connected = first.connect(second)
    mapped = connected.map(Both())
    assert mapped.transformation.inputs == (first.transformation, second.transformation)
    assert not mapped.transformation.is_keyed
    assert isinstance(operator_of(mapped), CoMapOperator)
    assert isinstance(operator_of(connected.flat_map(FlatBoth())), CoFlatMapOperator)
    assert isinstance(operator_of(connected.process(ProcessBoth())), CoProcessOperator)


def test_connected_streams_with_keys():
    first, second = two_streams()
    connected = first.connect(second).key_by(lambda v: v % 2, len, Types.INT())
    mapped = connected.map(Both())
    assert isinstance(operator_of(mapped), KeyedCoMapOperator)
    step = mapped.transformation
    assert [selector(value) for selector, value in zip(step.key_selectors, (3, "ab"), strict=True)] == [1, 2]
    assert step.key_type == Types.INT()
    assert isinstance(operator_of(connected.process(KeyedBoth())), KeyedCoProcessOperator)
    both_keyed = first.key_by(lambda v: v).connect(second.key_by(len))
    assert isinstance(operator_of(both_keyed.process(ProcessBoth())), KeyedCoProcessOperator)


def test_functions_and_keys_must_fit():
    first, second = two_streams()
    with pytest.raises(TypeMismatchError, match="no keys"):
        first.connect(second).process(KeyedBoth())
    with pytest.raises(TypeMismatchError, match="CoMapFunction"):
        first.connect(second).map(lambda v: v)
    different = first.key_by(lambda v: v, Types.INT()).connect(second.key_by(len, Types.LONG()))
    with pytest.raises(ValidationError, match="keys of different types"):
        different.map(Both())
    with pytest.raises(TypeMismatchError, match="connect takes"):
        first.connect([1])


def test_broadcast_with_descriptors_makes_a_broadcast_stream():
    first, second = two_streams()
    broadcast = second.broadcast(RULES)
    assert isinstance(broadcast, BroadcastStream)
    connected = first.connect(broadcast)
    assert isinstance(connected, BroadcastConnectedStream)
    result = connected.process(Rules())
    assert isinstance(operator_of(result), BroadcastProcessOperator)
    data, rules = result.transformation.inputs
    assert data is first.transformation
    assert isinstance(rules, PartitionTransformation)
    assert rules.partitioner.kind is PartitionerKind.BROADCAST
    assert result.transformation.requires_broadcast_first == 1


def test_a_keyed_stream_with_a_broadcast_one():
    first, second = two_streams()
    result = first.key_by(lambda v: v, Types.INT()).connect(second.broadcast(RULES)).process(KeyedRules())
    assert isinstance(operator_of(result), KeyedBroadcastProcessOperator)
    assert result.transformation.key_selectors[1] is None
    assert result.transformation.key_type == Types.INT()


def test_broadcast_functions_and_descriptors_must_fit():
    first, second = two_streams()
    with pytest.raises(TypeMismatchError, match="KeyedBroadcastProcessFunction"):
        first.key_by(lambda v: v).connect(second.broadcast(RULES)).process(Rules())
    with pytest.raises(TypeMismatchError, match="BroadcastProcessFunction"):
        first.connect(second.broadcast(RULES)).process(KeyedRules())
    with pytest.raises(TypeMismatchError, match="MapStateDescriptor"):
        second.broadcast(ValueStateDescriptor("x", Types.INT()))


@pytest.mark.usefixtures("in_process")
def test_a_co_map_runs_over_both_inputs():
    first, second = two_streams()
    result = first.connect(second).map(Both()).execute_and_collect()
    assert sorted(result, key=repr) == [("left", 1), ("left", 2), ("right", "a")]
