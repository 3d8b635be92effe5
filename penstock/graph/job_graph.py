"""The job as its users look at it: chains of operators (job vertices) and the edges between them.

Chaining follows Flink's rules, so names, counts and the drawn graph are what a Flink user expects. How the
work is cut for Spark is decided separately, in `stages.py`: two vertices that are not chained but connected
by a forward edge still run inside one Spark task.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode, may_chain


@dataclass(frozen=True)
class JobVertex:
    """A chain of operators, named as Flink names it: 'Source: numbers -> Map -> Filter'."""

    id: int
    nodes: tuple[StreamNode, ...]

    @property
    def head(self) -> StreamNode:
        return self.nodes[0]

    @property
    def parallelism(self) -> int:
        return self.head.parallelism

    @property
    def name(self) -> str:
        return " -> ".join(display_name(node) for node in self.nodes)


@dataclass(frozen=True)
class JobGraph:
    """Vertices in topological order; `edges` are those that leave a chain."""

    vertices: tuple[JobVertex, ...]
    edges: tuple[StreamEdge, ...]
    vertex_of: dict[int, int]


def display_name(node: StreamNode) -> str:
    """Sources and sinks carry a prefix, unless the name has it already."""
    prefix = "Source: " if node.is_source else "Sink: " if node.is_sink else ""
    return node.name if node.name.startswith(prefix) else prefix + node.name


def build_job_graph(graph: StreamGraph) -> JobGraph:
    """Groups the operators of a stream graph into chains."""
    chain_of: dict[int, int] = {}
    chains: list[list[StreamNode]] = []
    for node in graph.nodes:
        inputs = graph.inputs_of(node.id)
        if len(inputs) == 1 and may_chain(graph, inputs[0]):
            chain_of[node.id] = chain_of[inputs[0].source]
        else:
            chain_of[node.id] = len(chains)
            chains.append([])
        chains[chain_of[node.id]].append(node)
    vertices = tuple(JobVertex(i, tuple(nodes)) for i, nodes in enumerate(chains))
    edges = tuple(e for e in graph.edges if chain_of[e.source] != chain_of[e.target])
    return JobGraph(vertices, edges, chain_of)
