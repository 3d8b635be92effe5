"""Routing, parcels and channels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import InvariantError, TypeMismatchError, ValidationError
from penstock.common.typeinfo import Types
from penstock.graph.stream_graph import GraphSettings, StreamGraph, build_stream_graph
from penstock.graph.transformations import (
    OperatorTransformation,
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    SourceTransformation,
)
from penstock.runtime import exchange
from penstock.runtime.exchange import END, WATERMARK, ChannelStatus, ExchangeWriter, Mark, gather


def edge_graph(partitioner: Partitioner, sources: int, targets: int, type_info: Any = None) -> StreamGraph:
    source = SourceTransformation("s", parallelism=sources, output_type=type_info)
    moved = PartitionTransformation("p", (source,), partitioner=partitioner)
    return build_stream_graph(
        [OperatorTransformation("t", (moved,), parallelism=targets)], GraphSettings(parallelism=1)
    )


def transfer(graph: StreamGraph, batches: dict[int, list[Any]]) -> dict[int, dict[int, list[Any]]]:
    """Sends batches (or Marks) per sender; what each target gets, per sender, values and marks in order."""
    edge = graph.edges[0]
    inbox: dict[int, list[Any]] = {}
    for sender in range(graph.nodes[0].parallelism):
        writer = ExchangeWriter(graph, edge, sender, seed=1)
        writer.begin(ChannelStatus())
        for item in batches.get(sender, []):
            if isinstance(item, Mark):
                writer.mark(item.kind, item.value)
            else:
                writer.route(item, None)
        for target, parcel in [*writer.drain(), *writer.finish()]:
            inbox.setdefault(target, []).append(parcel)
    result: dict[int, dict[int, list[Any]]] = {}
    for target in range(graph.nodes[1].parallelism):
        parcels = list(reversed(inbox.get(target, [])))  # Spark promises no order
        for channel in gather(graph, [edge.id], target, parcels)[edge.id]:
            got: list[Any] = []
            for item in channel.items():
                if isinstance(item, Mark):
                    got.append((item.kind, item.value))
                else:
                    got.extend(item[0])
            result.setdefault(target, {})[channel.sender] = got
    return result


by_key = Partitioner(PartitionerKind.HASH, key_selector=lambda v: v % 7)


@given(
    st.lists(st.lists(st.integers(0, 1000), max_size=30), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_hash_sends_every_element_of_a_key_to_one_target_in_order(
    lists: list[list[int]], targets: int, parcel_values: int
) -> None:
    graph = edge_graph(by_key, len(lists), targets)
    before, exchange.PARCEL_VALUES = exchange.PARCEL_VALUES, parcel_values
    try:
        got = transfer(graph, {i: [values] for i, values in enumerate(lists)})
    finally:
        exchange.PARCEL_VALUES = before
    for sender, values in enumerate(lists):
        for key in range(7):
            wanted = [v for v in values if v % 7 == key]
            seen = [[v for v in got[t][sender] if v % 7 == key] for t in range(targets)]
            assert [s for s in seen if s] == ([wanted] if wanted else [])


def test_marks_keep_their_place_among_the_values_of_every_target() -> None:
    graph = edge_graph(by_key, 1, 2)
    got = transfer(graph, {0: [[1, 2], Mark(0, WATERMARK, 50), [3, 4, 5], Mark(0, END, 0)]})
    merged = [got[0][0], got[1][0]]
    for channel in merged:
        place = channel.index((WATERMARK, 50))
        assert set(channel[:place]) <= {1, 2}
        assert channel[-1] == (END, 0)
    values = [v for c in merged for v in c if isinstance(v, int)]
    assert sorted(values) == [1, 2, 3, 4, 5]


def test_keys_that_are_equal_in_python_but_of_different_type_may_go_apart() -> None:
    from penstock.runtime.routing import _key_target

    target = _key_target(Partitioner(PartitionerKind.HASH, key_selector=lambda v: v), 128, 128)
    assert len({target(1), target(True), target(1.0)}) == 3
    assert target(1) == target(1)


def test_rebalance_spreads_evenly() -> None:
    got = transfer(edge_graph(Partitioner(PartitionerKind.REBALANCE), 1, 3), {0: [[*range(10)], [*range(2)]]})
    assert sorted(len(channels[0]) for channels in got.values()) == [4, 4, 4]


def test_rescale_connects_only_its_group() -> None:
    graph = edge_graph(Partitioner(PartitionerKind.RESCALE), 2, 4)
    got = transfer(graph, {0: [[1, 2, 3, 4]], 1: [[5, 6, 7, 8]]})
    assert [sorted(channels) for _, channels in sorted(got.items())] == [[0], [0], [1], [1]]
    assert sorted(v for c in got.values() for values in c.values() for v in values) == [*range(1, 9)]


def test_broadcast_repeats_for_every_target() -> None:
    got = transfer(edge_graph(Partitioner(PartitionerKind.BROADCAST), 1, 3), {0: [[7, 8]]})
    assert [got[t][0] for t in range(3)] == [[7, 8]] * 3


def test_a_custom_partitioner_must_answer_with_a_partition() -> None:
    bad = Partitioner(PartitionerKind.CUSTOM, key_selector=lambda v: v, function=lambda key, n: key)
    with pytest.raises(ValidationError, match="answered 9 for key 9, but there are 2 partitions"):
        transfer(edge_graph(bad, 1, 2), {0: [[1, 9]]})


def test_declared_types_travel_as_declared() -> None:
    got = transfer(edge_graph(Partitioner(PartitionerKind.GLOBAL), 1, 1, Types.FLOAT()), {0: [[0.1]]})
    assert got[0][0] == [0.10000000149011612]


def test_a_lost_parcel_is_noticed() -> None:
    graph = edge_graph(Partitioner(PartitionerKind.GLOBAL), 1, 1)
    with pytest.raises(InvariantError, match="sender 0: got parcels"):
        gather(graph, [0], 0, [])


@pytest.mark.parametrize("wrong", [1 << 63, -(1 << 63) - 1, 0.5])
def test_a_timestamp_that_is_no_number_of_64_bits_names_the_operator_and_the_element(wrong: Any) -> None:
    graph = edge_graph(by_key, 1, 2, Types.LONG())
    writer = ExchangeWriter(graph, graph.edges[0], 0, seed=1)
    writer.begin(ChannelStatus())
    writer.route([7, 14, 21], [(1 << 63) - 1, wrong, 0])
    with pytest.raises(TypeMismatchError) as caught:
        list(writer.finish())
    assert str(wrong) in caught.value.what
    assert caught.value.where == "output of operator 's', subtask 1; element 14"
