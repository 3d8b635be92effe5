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
from penstock.sql.streaming.physical import DeltaNode, PhysicalNode, ScanNode, StreamNode, WatermarkNode
from penstock.sql.streaming.planner import Planner

KEEPS, LOSES, STARTS_EMPTY = "keeps", "loses", "starts empty"
_COMPUTES_OTHERWISE = (
    "it computes something else: other keys, functions, order or conditions, or a time to live has been switched "
    "on or off, which changes how it keeps its rows"
)


@dataclass(frozen=True)
class PlannedOperator:
    """An operator that has something to lose: rows it remembers, positions in a source, output to commit."""

    uid: str
    kind: str
    description: str
    identity: NodeIdentity | None


@dataclass(frozen=True)
class PlannedJob:
    """The operators with state of one job, and the tables that it writes.

    `between` are those that keep nothing and only pass rows on: watermarks, look-ups; constant rows, too.
    """

    sinks: tuple[str, ...]
    operators: tuple[PlannedOperator, ...]
    between: tuple[PlannedOperator, ...] = ()

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
    operators = [_planned(node) for node in planner.nodes if _has_state(node)]
    between = [_planned(node) for node in planner.nodes if not _has_state(node)]
    ends = [
        PlannedOperator(uid, "Sink", f"Sink({name})", None)
        for uid, name in zip(sink_uids(planner, sinks), names, strict=True)
    ]
    return PlannedJob(names, (*operators, *ends), tuple(between))


def _planned(node: PhysicalNode) -> PlannedOperator:
    delay = node.delay_ms if isinstance(node, WatermarkNode) else None
    title = node.name if delay is None else f"{node.name} {delay} ms behind"
    return PlannedOperator(node.uid, kind_of(node), title, node.identity)


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
        verdicts.append(JobVerdict(successor.name, compare_operators(job, successor)))
    for job in left:
        fresh = [Verdict(op.uid, op.description, STARTS_EMPTY) for op in job.operators]
        verdicts.append(JobVerdict(job.name, fresh, "a new job"))
    return verdicts


def compare_operators(old: PlannedJob, new: PlannedJob) -> list[Verdict]:
    """What becomes of each operator: old ones first, then those that are new."""
    by_uid = {op.uid: op for op in new.operators}
    former = {op.uid for op in old.operators}
    ways = _Ways(old, new)
    unmatched = [op for op in new.operators if op.uid not in former]
    verdicts = []
    for op in old.operators:
        if op.uid in by_uid:
            verdicts.append(Verdict(op.uid, op.description, KEEPS, _kept_reason(op, by_uid[op.uid])))
        else:
            verdicts.append(Verdict(op.uid, op.description, LOSES, _lost_reason(op, unmatched, ways)))
    verdicts += [Verdict(op.uid, op.description, STARTS_EMPTY) for op in unmatched]
    return verdicts


def _kept_reason(old: PlannedOperator, new: PlannedOperator) -> str:
    if old.kind == "Sink":
        return "the same table"
    if old.kind == "TableSourceScan":
        return "the same table: reading goes on where it stopped"
    return "computes the same from the same columns"


def _lost_reason(old: PlannedOperator, candidates: Sequence[PlannedOperator], ways: _Ways) -> str:
    alike = [op for op in candidates if op.kind == old.kind and op.identity is not None]
    if old.identity is None or not alike:
        return f"the new statement has no such {old.kind}"
    known = old.identity
    new = max(alike, key=lambda op: _likeness(known, op.identity))
    assert new.identity is not None
    return f"{_difference(old.identity, new.identity, ways)} (now {new.description})"


def _likeness(old: NodeIdentity, new: NodeIdentity | None) -> int:
    assert new is not None
    score = 2 * (old.own == new.own)
    for was, now in zip(old.inputs, new.inputs, strict=False):
        score += (was.nodes == now.nodes) + (was.columns == now.columns) + (was.filters == now.filters)
    return score


def _difference(old: NodeIdentity, new: NodeIdentity, ways: _Ways) -> str:
    if len(old.inputs) != len(new.inputs):
        return "it has another number of inputs"
    inputs = list(zip(old.inputs, new.inputs, strict=True))
    for was, now in inputs:
        other = ways.difference(was, now)
        if other:
            return other
    if old.own != new.own and any(a.nodes != b.nodes for a, b in inputs):
        # Columns are known by the node that they come from. It passes on others besides, so all of them look new.
        return _COMPUTES_OTHERWISE
    if any(a.columns != b.columns for a, b in inputs):
        return "it takes in other columns, or columns that are computed in another way"
    if any(a.filters != b.filters for a, b in inputs):
        return "a condition before it has changed, and its input takes rows back that had come through the former one"
    return _COMPUTES_OTHERWISE


class _Ways:
    """Where rows come from in both plans: operators that remember something, and those without state on the way.

    The latter pass on whatever columns somebody behind them needs, and are others with other columns. So that says
    nothing about an operator behind them, unless what they do has changed.
    """

    def __init__(self, old: PlannedJob, new: PlannedJob) -> None:
        every = (*old.operators, *new.operators, *old.between, *new.between)
        self._titles = {op.identity.digest: op.description for op in every if op.identity is not None}
        between = (op.identity for op in (*old.between, *new.between) if op.identity is not None)
        self._between = {identity.digest: identity for identity in between if identity.inputs}

    def difference(self, was: InputIdentity, now: InputIdentity) -> str:
        """How the ways of an input's rows differ; nothing if they do not."""
        (origins, way), (new_origins, new_way) = self._walk(was), self._walk(now)
        if origins != new_origins:
            return f"its rows come from {self._other(new_origins, origins)}"
        former, current = ([self._titles[digest] for digest in side] for side in (way, new_way))
        return "" if former == current else f"its rows come through {self._other(new_way, way)}"

    def _walk(self, side: InputIdentity) -> tuple[list[str], list[str]]:
        """The digests of the operators that the rows of an input come from, and of those on the way."""
        origins: list[str] = []
        way: list[str] = []
        for digest in side.nodes:
            if digest not in self._between:
                origins.append(digest)
                continue
            way.append(digest)
            for below in map(self._walk, self._between[digest].inputs):
                origins += below[0]
                way += below[1]
        return origins, way

    def _other(self, now: Sequence[str], was: Sequence[str]) -> str:
        current, former = (" and ".join(self._titles[d] for d in side) or "nothing" for side in (now, was))
        return (
            f"{current}, which is not the same as before"
            if current == former
            else f"{current} instead of {former}"
        )
