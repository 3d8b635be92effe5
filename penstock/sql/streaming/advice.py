"""What EXPLAIN warns of: cross products, state that grows for ever, sinks whose primary key is not that of the rows
they get, updates that may not find the row they update.

A join or aggregate remembers its input until somebody says for how long. And an expression such as UUID() over rows
that are taken back gives another value for the row that goes than for the row that came:

    +I  (k=1)   ->  +I (k=1, id='7f…')
    -D  (k=1)   ->  -D (k=1, id='a3…')      nobody has seen this row
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.common.errors import ValidationError
from penstock.sql.plan.algebra import DataFrameScan, Join, Plan, walk_plan
from penstock.sql.plan.plan_rexes import rexes, unstable_call
from penstock.sql.plan.rex import Rex, UdfCall, walk
from penstock.sql.streaming.epoch_time import is_epoch_time
from penstock.sql.streaming.physical import (
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    StreamNode,
    ValuesNode,
)

STRATEGY = "table.optimizer.non-deterministic-update.strategy"
UNBOUNDED = "advice: set 'table.exec.state.ttl', or give joins and aggregates a STATE_TTL hint"
NO_TTL = "no time to live applies to it; advice: see to it that its keys are limited in number"


def unbounded_state(nodes: Iterable[PhysicalNode]) -> Iterator[str]:
    """A line for each operator whose state nothing bounds, and that has more of it with more rows or keys."""
    for node in nodes:
        if not isinstance(node, DeltaNode) or node.operator is None:
            continue
        endless = [kept for kept in node.operator.kept() if kept.grows(keyed=node.is_keyed)]
        if any(kept.ttl_ms is not None for kept in endless):
            yield f"[WARNING] {node.name} keeps its state for ever; {UNBOUNDED}"
        elif endless:
            yield f"[WARNING] {node.name} keeps its state for ever; {NO_TTL}"


def key_of_sink(sink: str, key: Sequence[str], stream: Stream, is_safe: bool) -> str:
    """A line for a sink with a primary key that is not the key of the rows it gets."""
    names = [f.name for f in stream.fields]
    keys = sorted(", ".join(names[i] for i in sorted(known)) for known in stream.keys)
    if stream.disordered_by:
        why = f"changes of one row may come in any order, because {stream.disordered_by}"
    elif keys:
        why = f"rows of the query are told apart by ({'), ('.join(keys)}), so several may have the same key"
    else:
        why = "no columns of the query's result are known to be unique"
    then = "SinkMaterializer keeps all rows of each key and shows the last" if is_safe else (
        "with 'table.exec.sink.upsert-materialize' = 'NONE', taking one row back may remove another"
    )  # fmt: skip
    best = f"make ({keys[0]}) its primary key" if keys else "select columns that are unique"
    return (
        f"[WARNING] table '{sink}' is written by its primary key ({', '.join(key)}), but {why}: {then}; "
        f"advice: {best}, or group by ({', '.join(key)})"
    )


def cross_product(plan: Join, left: Stream, right: Stream) -> Iterator[str]:
    """A line for a join that compares every row of one side with every row of the other."""
    if _has_one_row(left.nodes) or _has_one_row(right.nodes):
        return
    sides = [", ".join(dict.fromkeys(_tables(stream.nodes))) or "rows" for stream in (left, right)]
    yield (
        f"[WARNING] {plan.title} of {sides[0]} with {sides[1]} is a cross product: no equality connects them, so one "
        "subtask keeps all rows of both and compares each with each; advice: join on equal columns"
    )


def _has_one_row(nodes: Iterable[PhysicalNode]) -> bool:
    """Constants, and aggregates without GROUP BY."""
    return all(
        isinstance(n, ValuesNode) or (isinstance(n, DeltaNode) and frozenset() in n.keys) for n in nodes
    )


def _tables(nodes: Iterable[PhysicalNode]) -> Iterator[str]:
    """The tables that rows come from."""
    for node in nodes:
        if isinstance(node, ScanNode) and node.scan is not None:
            yield f"'{node.scan.identifier.object_name}'"
        elif isinstance(node, StreamNode):
            yield node.name
        for stream in node.inputs:
            yield from _tables(stream.nodes)


def unstable_updates(nodes: Iterable[PhysicalNode], outputs: Iterable[Stream]) -> Iterator[str]:
    """A line for each expression, and each lookup, that may answer differently when a row is taken back."""
    nodes = list(nodes)
    for stream in [*(s for node in nodes for s in node.inputs), *outputs]:
        if not stream.retracts:
            continue
        for name in dict.fromkeys(_unstable(stream.plan)):
            yield (
                f"[WARNING] {name} may give another value when a row that {stream.updated_by} made is taken "
                "back; advice: compute it before the operator that updates, or write to a sink with a primary key"
            )
    for node in nodes:
        if isinstance(node, LookupNode) and node.inputs[0].retracts:
            yield (
                f"[WARNING] {node.name} may find another row when a row is taken back; "
                "advice: put it before the operator that updates"
            )


def check_updates(config: str, nodes: Iterable[PhysicalNode], outputs: Iterable[Stream]) -> None:
    """Refuses unstable updates where the configuration asks for that."""
    if config.upper() != "TRY_RESOLVE":
        return
    for problem in unstable_updates(nodes, outputs):
        what, _, do = problem.removeprefix("[WARNING] ").partition("; advice: ")
        raise ValidationError(f"the plan has a non-deterministic update: {what}", do=do)


def _unstable(plan: Plan) -> Iterator[str]:
    for node in walk_plan(plan):
        if isinstance(node, DataFrameScan):
            continue
        for rex in rexes(node):
            yield from (name for part in walk(rex) if (name := _unstable_name(part)) is not None)


def _unstable_name(rex: Rex) -> str | None:
    if isinstance(rex, UdfCall) and (is_epoch_time(rex) or rex.name == "CURRENT_WATERMARK"):
        return rex.name
    return unstable_call(rex)
