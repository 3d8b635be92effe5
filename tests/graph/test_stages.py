"""How programs are cut into stages and levels."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import ValidationError
from penstock.graph.stages import plan_stages
from penstock.graph.stream_graph import GraphSettings, StreamGraph, build_stream_graph
from penstock.graph.transformations import (
    OperatorTransformation,
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    SideOutputTransformation,
    SourceTransformation,
    Transformation,
    UnionTransformation,
)

HASH = Partitioner(PartitionerKind.HASH, key_selector=lambda v: v)


def source(name: str = "numbers", **kw: Any) -> Transformation:
    return SourceTransformation(name, **kw)


def op(name: str, *inputs: Transformation, **kw: Any) -> OperatorTransformation:
    return OperatorTransformation(name, inputs, **kw)


def hashed(t: Transformation) -> Transformation:
    return PartitionTransformation("hash", (t,), partitioner=HASH)


def graph(*sinks: Transformation, parallelism: int = 2, **kw: Any) -> StreamGraph:
    return build_stream_graph(sinks, GraphSettings(parallelism=parallelism, **kw))


def names(g: StreamGraph) -> list[list[str]]:
    plan = plan_stages(g)
    return [["+".join(g.nodes[n].name for n in plan.stages[s].nodes) for s in level] for level in plan.levels]


def test_a_chain_without_exchange_is_one_stage() -> None:
    assert names(graph(op("b", op("a", source())))) == [["numbers+a+b"]]


def test_an_exchange_starts_a_new_level() -> None:
    assert names(graph(op("count", hashed(op("a", source()))))) == [["numbers+a"], ["count"]]


def test_branches_of_one_source_run_in_the_same_stage() -> None:
    s = source()
    assert names(graph(op("left", s), op("right", s))) == [["numbers+left+right"]]


def test_a_union_of_equal_parallelism_needs_no_exchange() -> None:
    union = UnionTransformation("union", (source("a"), source("b")))
    assert names(graph(op("map", union))) == [["a+b+map"]]


def test_stages_of_one_level_share_its_partitions() -> None:
    left, right = op("l", hashed(source("a"))), op("r", hashed(source("b", parallelism=3)))
    g = graph(left, right)
    plan = plan_stages(g)
    assert [plan.partitions(level) for level in (0, 1)] == [5, 4]
    stage, subtask = plan.locate(0, 4)
    assert (g.nodes[stage.nodes[0]].name, subtask) == ("b", 2)


def test_a_forward_edge_that_skips_a_level_becomes_an_exchange() -> None:
    s = source()
    deep = op("deep", hashed(s))
    g = graph(op("join", UnionTransformation("u", (s, deep))))
    assert names(g) == [["numbers"], ["deep+join"]]
    plan = plan_stages(g)
    assert len(plan.stages[0].exchanges_out) == 2


def test_a_change_of_parallelism_rebalances() -> None:
    g = graph(op("a", source(parallelism=1)))
    assert g.edges[0].partitioner.kind is PartitionerKind.REBALANCE


def test_side_outputs_and_partitionings_become_properties_of_edges() -> None:
    late = SideOutputTransformation("late", (op("window", source()),), tag_id="late")
    g = graph(op("sink", hashed(late)))
    assert (g.edges[1].tag_id, g.edges[1].partitioner.kind) == ("late", PartitionerKind.HASH)


def test_uids_are_the_same_for_the_same_program() -> None:
    def program() -> StreamGraph:
        return graph(op("b", hashed(op("a", source()))))

    assert [n.uid for n in program().nodes] == [n.uid for n in program().nodes]


def test_two_operators_with_one_uid_are_refused() -> None:
    with pytest.raises(ValidationError, match="used by two operators: 'a' and 'b'"):
        graph(op("b", op("a", source(), uid="x"), uid="x"))


def test_forward_may_not_change_the_parallelism() -> None:
    forward = PartitionTransformation(
        "forward", (source(parallelism=1),), partitioner=Partitioner(PartitionerKind.FORWARD)
    )
    with pytest.raises(ValidationError, match="would have to change the parallelism"):
        graph(op("a", forward))


def test_a_job_without_sinks_is_refused() -> None:
    with pytest.raises(ValidationError, match="no operators"):
        graph()


def test_a_thousand_chained_operators_do_not_exhaust_the_stack() -> None:
    t: Transformation = source()
    for i in range(1_500):
        t = op(f"m{i}", t)
    assert len(graph(t).nodes) == 1_501
