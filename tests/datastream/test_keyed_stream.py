"""KeyedStream methods as the transformations they build."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.datastream import KeyedProcessFunction, ProcessFunction
from penstock.functions.rolling import RollingFunction
from penstock.graph.transformations import PartitionerKind, PartitionTransformation
from penstock.operators.keyed_map import KeyedFilterOperator, KeyedFlatMapOperator, KeyedMapOperator
from penstock.operators.process import KeyedProcessOperator
from penstock.operators.reduce import ReduceOperator
from tests.datastream.programs import new_env, operator_of, upstream


def pairs() -> Any:
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    return new_env().from_collection([("a", 1), ("b", 2)], pair)


def keyed() -> Any:
    return pairs().key_by(lambda t: t[0], Types.STRING())


def test_key_by_partitions_by_hash():
    stream = keyed()
    step = stream.transformation
    assert isinstance(step, PartitionTransformation)
    assert step.partitioner.kind is PartitionerKind.HASH
    assert step.partitioner.key_selector(("a", 1)) == "a"
    assert step.partitioner.key_type == stream.get_key_type() == Types.STRING()


def test_functions_of_a_keyed_stream_have_keyed_operators():
    class Counting(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

    class Plain(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

    stream = keyed()
    for result, operator in [
        (stream.map(lambda v: v), KeyedMapOperator),
        (stream.flat_map(lambda v: [v]), KeyedFlatMapOperator),
        (stream.filter(lambda v: True), KeyedFilterOperator),
        (stream.process(Counting()), KeyedProcessOperator),
        (stream.process(Plain()), KeyedProcessOperator),
        (stream.reduce(lambda x, y: x), ReduceOperator),
    ]:
        assert isinstance(operator_of(result), operator)
        step = result.transformation
        assert step.is_keyed
        assert step.key_type == Types.STRING()
        assert step.inputs[0] is stream.transformation


def test_reduce_and_filter_keep_the_type():
    assert keyed().reduce(lambda x, y: x).get_type() == pairs().get_type()
    assert keyed().filter(lambda v: True).get_type() == pairs().get_type()


@pytest.mark.parametrize("kind", ["sum", "min", "max", "min_by", "max_by"])
def test_rolling_aggregates_are_reduces(kind: str):
    result = getattr(keyed(), kind)(1)
    function = operator_of(result).function
    assert isinstance(function, RollingFunction)
    assert (function.kind, function.position) == (kind, 1)
    assert getattr(keyed(), kind)().transformation.output_type == pairs().get_type()


def test_a_field_that_is_neither_position_nor_name_is_refused():
    with pytest.raises(TypeMismatchError, match="position or the name"):
        keyed().sum(1.5)


@pytest.mark.parametrize("method", ["rebalance", "forward", "shuffle", "rescale", "broadcast"])
def test_another_partitioning_would_undo_the_keys(method: str):
    with pytest.raises(ValidationError, match="partitioning by key"):
        getattr(keyed(), method)()


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.name("x"),
        lambda s: s.uid("x"),
        lambda s: s.set_parallelism(2),
        lambda s: s.get_name(),
        lambda s: s.cache(),
        lambda s: s.disable_chaining(),
    ],
)
def test_key_by_is_not_an_operator_and_has_no_settings(call: Any):
    with pytest.raises(ValidationError, match="key_by is not an operator"):
        call(keyed())


def test_keying_again_replaces_the_keys():
    again = keyed().key_by(lambda t: t[1])
    assert not isinstance(upstream(again), PartitionTransformation)
    assert again.key_selector(("a", 1)) == 1


def test_a_keyed_stream_in_a_union_loses_its_keys():
    stream = keyed()
    union = stream.union(stream.map(lambda v: v, pairs().get_type()))
    assert union.transformation.inputs[0] is stream.origin_stream.transformation


def test_interval_join_needs_another_keyed_stream():
    with pytest.raises(TypeMismatchError, match="KeyedStream"):
        keyed().interval_join(pairs())
