"""Whether a changed statement can go on from the state of the former one, told before anything is deployed.

Both are planned, nothing runs. Operators are compared by what they compute (`sql/streaming/node_identity.py`): those
with the same uid keep their state; for each of the others the operator of the new plan that is most like it tells the
reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.sql.plan.algebra import InsertInto
from penstock.sql.streaming.jobs import plan_inserts, sink_uids
from penstock.sql.streaming.node_identity import InputIdentity, NodeIdentity, kind_of
from penstock.sql.streaming.physical import DeltaNode, PhysicalNode, ScanNode, StreamNode
from penstock.sql.streaming.planner import Planner

KEEPS, LOSES, STARTS_EMPTY = "keeps", "loses", "starts empty"


@dataclass(frozen=True)
class PlannedOperator:
    """An operator that has something to lose: rows it remembers, positions in a source, output to commit."""

    uid: str
    kind: str
    description: str
    identity: NodeIdentity | None


@dataclass(frozen=True)
class PlannedJob:
    """The operators with state of one job, and the tables that it writes."""

    sinks: tuple[str, ...]
    operators: tuple[PlannedOperator, ...]

    @property
    def name(self) -> str:
        return ", ".join(self.sinks)


@dataclass(frozen=True)
class Verdict:
    """What becomes of an operator's state, and why."""

    uid: str
    description: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True)
class JobVerdict:
    """What becomes of a job. `job` names its sinks."""

    job: str
    operators: list[Verdict] = field(default_factory=list)
    note: str = ""

    @property
    def loses(self) -> bool:
        return any(verdict.outcome == LOSES for verdict in self.operators)


def planned_job(config: Mapping[str, str], sinks: Sequence[InsertInto]) -> PlannedJob:
    """Plans the INSERTs of one job as a start would."""
    planner = Planner(config)
    plan_inserts(planner, sinks)
    names = tuple(sink.identifier.as_summary_string() for sink in sinks)
    operators = [
        PlannedOperator(node.uid, kind_of(node), node.name, node.identity)
        for node in planner.nodes
        if _has_state(node)
    ]
    ends = [
        PlannedOperator(uid, "Sink", f"Sink({name})", None)
        for uid, name in zip(sink_uids(planner, sinks), names, strict=True)
    ]
    return PlannedJob(names, (*operators, *ends))


def _has_state(node: PhysicalNode) -> bool:
    return isinstance(node, (ScanNode, StreamNode, DeltaNode))


def compare_jobs(old: Sequence[PlannedJob], new: Sequence[PlannedJob]) -> list[JobVerdict]:
    """Job by job: those that write the same tables belong together, else those that share most of them."""
    left = list(new)
    verdicts = []
    for job in old:
        successor = max(left, key=lambda other: len(set(other.sinks) & set(job.sinks)), default=None)
        if successor is None or not set(successor.sinks) & set(job.sinks):
            note = "no job of the new script writes into these tables: nothing goes on from its state"
            lost = [Verdict(op.uid, op.description, LOSES, "its job is gone") for op in job.operators]
            verdicts.append(JobVerdict(job.name, lost, note))
            continue
        left.remove(successor)
        verdicts.append(JobVerdict(successor.name, compare_operators(job.operators, successor.operators)))
    for job in left:
        fresh = [Verdict(op.uid, op.description, STARTS_EMPTY) for op in job.operators]
        verdicts.append(JobVerdict(job.name, fresh, "a new job"))
    return verdicts


def compare_operators(old: Sequence[PlannedOperator], new: Sequence[PlannedOperator]) -> list[Verdict]:
    """What becomes of each operator: old ones first, then those that are new."""
    by_uid = {op.uid: op for op in new}
    former = {op.uid for op in old}
    titles = {op.identity.digest: op.description for op in (*old, *new) if op.identity is not None}
    unmatched = [op for op in new if op.uid not in former]
    verdicts = []
    for op in old:
        if op.uid in by_uid:
            verdicts.append(Verdict(op.uid, op.description, KEEPS, _kept_reason(op, by_uid[op.uid])))
        else:
            verdicts.append(Verdict(op.uid, op.description, LOSES, _lost_reason(op, unmatched, titles)))
    verdicts += [Verdict(op.uid, op.description, STARTS_EMPTY) for op in unmatched]
    return verdicts


def _kept_reason(old: PlannedOperator, new: PlannedOperator) -> str:
    if old.kind == "Sink":
        return "the same table"
    if old.kind == "TableSourceScan":
        return "the same table: reading goes on where it stopped"
    return "computes the same from the same columns"


def _lost_reason(
    old: PlannedOperator, candidates: Sequence[PlannedOperator], titles: Mapping[str, str]
) -> str:
    alike = [op for op in candidates if op.kind == old.kind and op.identity is not None]
    if old.identity is None or not alike:
        return f"the new statement has no such {old.kind}"
    known = old.identity
    new = max(alike, key=lambda op: _likeness(known, op.identity))
    assert new.identity is not None
    return f"{_difference(old.identity, new.identity, titles)} (now {new.description})"


def _likeness(old: NodeIdentity, new: NodeIdentity | None) -> int:
    assert new is not None
    score = 2 * (old.own == new.own)
    for was, now in zip(old.inputs, new.inputs, strict=False):
        score += (was.nodes == now.nodes) + (was.columns == now.columns) + (was.filters == now.filters)
    return score


def _difference(old: NodeIdentity, new: NodeIdentity, titles: Mapping[str, str]) -> str:
    if len(old.inputs) != len(new.inputs):
        return "it has another number of inputs"
    for was, now in zip(old.inputs, new.inputs, strict=True):
        if was.nodes != now.nodes:
            return f"its rows come from {_from(now, titles)} instead of {_from(was, titles)}"
    if any(a.columns != b.columns for a, b in zip(old.inputs, new.inputs, strict=True)):
        return "it takes in other columns, or columns that are computed in another way"
    if any(a.filters != b.filters for a, b in zip(old.inputs, new.inputs, strict=True)):
        return "a condition before it has changed, and its input takes rows back that had come through the former one"
    return (
        "it computes something else: other keys, functions, order or conditions, or a time to live has been switched "
        "on or off, which changes how it keeps its rows"
    )


def _from(side: InputIdentity, titles: Mapping[str, str]) -> str:
    found = [titles.get(digest, "an operator that has changed") for digest in side.nodes]
    return " and ".join(found) or "nothing"
