"""A stage inside a task: operators wired together, taken through one epoch after another.

An instance lives in a Python worker process for as long as that process serves the job, so user functions
are opened once, not per epoch. Before an epoch it compares the token of the attempt it last finished with the
one that the driver committed: if they agree everything in memory is current, otherwise (another process ran the
last epoch, or this one failed half-way) operator and function state are restored; keyed state decides for
itself (state/backend.py).
"""

from __future__ import annotations

import functools
import os
import pickle
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.packing import Compacted
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.ids import MAX_WATERMARK
from penstock.common.key_groups import key_group_range
from penstock.common.pickling import dumps, loads
from penstock.common.points import Point, reach
from penstock.graph.stages import Stage
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from penstock.metrics import MetricGroup
from penstock.operators.base import EpochClock, Operator, OperatorContext
from penstock.operators.dead_letters import DeadLetters
from penstock.operators.sink import SinkOperator
from penstock.operators.source import SourceOperator
from penstock.runtime.attempts import ENDED, number_of
from penstock.runtime.batch_sort import KeySortedBuffer
from penstock.runtime.compaction import Compactor
from penstock.runtime.exchange import ChannelStatus, ExchangeWriter, Parcel
from penstock.runtime.feeding import Feeding, Incoming
from penstock.runtime.latency import LatencyMarker, LatencyOf, LatencySettings
from penstock.runtime.node import NodeOutput, NodeRuntime
from penstock.runtime.plan import (
    JobDefinition,
    LevelPlan,
    NodePlan,
    NodeReport,
    SplitProgress,
    SubtaskPlan,
    SubtaskReport,
)
from penstock.runtime.sampling import Tap
from penstock.runtime.tables.parcels import TableWriter, carries_tables, from_bytes
from penstock.state.backend import next_handle
from penstock.state.factory import open_keyed_backend
from penstock.state.operator import MemoryOperatorStateBackend

# State above this size goes to a file of its own instead of into the checkpoint's metadata.
INLINE_STATE_BYTES = 256 * 1024


@dataclass(frozen=True)
class Carried:
    """A parcel for a later act of the same stage and subtask."""

    parcel: Parcel


@dataclass(frozen=True)
class Outgoing:
    """A parcel on its way: which level and partition it is for."""

    level: int
    partition: int
    parcel: Parcel


Item: TypeAlias = "Outgoing | Carried | Any | SubtaskReport"
"""What an act of a stage yields; a table goes into the segment behind the act."""


class StageInstance:
    """All operators of one act of a stage, for one subtask; nearly all stages have only one act."""

    def __init__(
        self, job: JobDefinition, stage: Stage, subtask: int, attempt_number: int, act: int = 0
    ) -> None:
        self.job = job
        self.stage = stage
        self.subtask = subtask
        self.act = act
        self.token: str | None = None
        self.used = False
        """Whether an epoch has begun here."""
        self._bytes_out = 0
        self._clock = EpochClock()
        self._storage: CheckpointStorage = job.storage
        self._writers: list[tuple[int, Any]] = []
        self._latency = LatencySettings.of(job.configuration)
        self._marked_ms: dict[int, int] = {}
        self.nodes: dict[int, NodeRuntime] = {
            node_id: self._make_node(job.graph.nodes[node_id], attempt_number) for node_id in stage.acts[act]
        }
        self._feeding = Feeding(job.graph, stage, act, subtask, self.nodes)
        self._edges_out = [e for e in (*stage.exchanges_out, *stage.local_edges) if self._leaves(e)]
        self._wire()

    # -- building ------------------------------------------------------------------------------------

    def _leaves(self, edge_id: int) -> bool:
        edge = self.job.graph.edges[edge_id]
        return edge.source in self.nodes and (
            edge.target not in self.nodes or edge_id in self.stage.exchanges_out
        )

    def _make_node(self, node: StreamNode, attempt_number: int) -> NodeRuntime:
        operator = pickle.loads(self.job.operators[node.id])
        output = NodeOutput(self.job.batch_mode)
        operator.setup(self._make_context(node, attempt_number), output)
        sorter = None
        if self.job.batch_mode and node.sorts_by_key:
            sorter = KeySortedBuffer(compile_codec(node.key_type), node.key_selectors)
        runtime = NodeRuntime(operator, output, sorter)
        unkeyed = {i for i, selector in enumerate(node.key_selectors) if selector is None}
        runtime.leave_unsorted(frozenset(unkeyed) if sorter else frozenset())
        if node.is_keyed:
            runtime.compactor = Compactor(self._storage, self._file_prefix(node))
        if self._latency.interval_ms > 0:
            runtime.latency = LatencyOf(self.job.graph, self._latency)
        return runtime

    def _make_context(self, node: StreamNode, attempt_number: int) -> OperatorContext:
        job = self.job
        keyed = None
        if node.is_keyed:
            groups = key_group_range(self.subtask, node.max_parallelism, node.parallelism)
            keyed = open_keyed_backend(
                job.backend,
                local_dir=job.local_dir,
                job_id=job.job_id,
                uid=node.uid,
                subtask=self.subtask,
                first_key_group=groups[0],
                last_key_group=groups[-1],
                max_parallelism=node.max_parallelism,
                key_codec=compile_codec(node.key_type),
                storage=self._storage,
                file_prefix=self._file_prefix(node),
            )
        return OperatorContext(
            uid=node.uid,
            name=node.name,
            subtask_index=self.subtask,
            parallelism=node.parallelism,
            max_parallelism=node.max_parallelism,
            clock=self._clock,
            metrics=MetricGroup(),
            operator_state=MemoryOperatorStateBackend(self.subtask, node.parallelism),
            keyed_state=keyed,
            job_id=job.job_id,
            job_name=job.job_name,
            attempt_number=attempt_number,
            batch_mode=job.batch_mode,
            configuration=job.configuration,
            job_parameters=job.job_parameters,
            storage=self._storage,
            dead_letters=DeadLetters.of(job.configuration, node.name, str(node.uid)),
        )

    def _file_prefix(self, node: StreamNode) -> str:
        """Where the subtask's keyed state lies in checkpoint storage."""
        return f"shared/{node.uid}-{self.subtask}"

    def _wire(self) -> None:
        graph = self.job.graph
        for edge_id in self.stage.local_edges:
            edge = graph.edges[edge_id]
            if edge.source not in self.nodes or edge.target not in self.nodes:
                continue
            channel = (edge_id, self.subtask)
            self.nodes[edge.target].register(channel, edge.input_index)
            self.nodes[edge.source].output.connect(
                edge.tag_id, self.nodes[edge.target], edge.input_index, channel
            )

    # -- one epoch -----------------------------------------------------------------------------------

    def run_epoch(
        self,
        plan: LevelPlan,
        mine: SubtaskPlan,
        parcels: Iterable[Parcel],
        tables: Sequence[pa.Table] = (),
        token: str | None = None,
        limit_ms: float | None = None,
    ) -> Iterator[Item]:
        """Runs the epoch; yields parcels as they fill up and, last, the report.

        Args:
            parcels: What came through exchanges, and from earlier acts.
            tables: What came out of the segment before this act.
            token: The name of the attempt, which all acts share; the first one makes it.
            limit_ms: For how long input is taken; what is left then waits for the next epoch.
        """
        started = time.perf_counter()
        token = token or uuid.uuid4().hex
        warm = self.token is not None and self.token == mine.token
        self.token, self.used = None, True
        self._clock.epoch = plan.epoch
        self._clock.processing_time_ms = plan.processing_time_ms
        self._clock.attempt = token
        snapshots = self._begin(mine, warm)
        taps = self._tap(self.stage.id in plan.sampled)
        self._bytes_out = 0
        parcels = list(parcels)
        bytes_in = sum(_bytes_of(parcel) for parcel in parcels)
        incoming = self._feeding.gather(parcels)
        self._announce(plan, incoming)
        for node in self._live():
            node.operator.on_processing_time()
        yield from self._drain()
        for _ in self._feeding.feed(incoming, tables, limit_ms):
            yield from self._drain()
        progress: dict[int, list[SplitProgress]] = {}
        for _ in self._read_sources(mine, progress, limit_ms):
            yield from self._drain()
        for node in self._live():
            node.operator.end_epoch()
            yield from self._drain()
        yield from self._flush()
        reach(Point.REPORT_NEXT)
        report = self._report(plan, mine, token, snapshots, progress, started)
        self.token = token
        worker = (_host(), os.getpid())
        sample = next((found for tap in taps if (found := tap.taken()).rows), None)
        yield replace(
            report, warm=warm, bytes_in=bytes_in, bytes_out=self._bytes_out, worker=worker, sample=sample
        )

    def _tap(self, wanted: bool) -> list[Tap]:
        """Taps where the stage ends, or none any more."""
        taps = []
        inner = {self.job.graph.edges[edge].source for edge in self.stage.local_edges}
        for node_id, node in self.nodes.items():
            spec = self.job.graph.nodes[node_id]
            tap = None
            if wanted and node_id not in inner:
                incoming = self.job.graph.inputs_of(node_id)
                arriving = incoming[0].element_type if incoming else None
                tap = Tap(arriving if spec.is_sink else spec.output_type)
                taps.append(tap)
            node.tap = tap if spec.is_sink else None
            node.output.tap = None if spec.is_sink else tap
        return taps

    def _live(self) -> list[NodeRuntime]:
        return [node for node in self.nodes.values() if not node.ended]

    def _begin(self, mine: SubtaskPlan, warm: bool) -> dict[int, FileRef | None]:
        """Brings all state to what the plan says is committed."""
        snapshots: dict[int, FileRef | None] = {}
        reach(Point.STATE_NEXT)
        if not warm:
            self._feeding.waiting = ()
        for node_id, node in self.nodes.items():
            plan = mine.nodes[node_id]
            context = node.operator.context
            node.snapshot_ms = 0.0
            if context.keyed_state is not None and plan.keyed is not None:
                began = time.perf_counter()
                assert node.compactor is not None
                snapshots[node_id] = context.keyed_state.begin_epoch(
                    node.compactor.heeded(plan.keyed), self._clock.processing_time_ms
                )
                if snapshots[node_id] is not None:
                    node.snapshot_ms = (time.perf_counter() - began) * 1000
            if not warm:
                self._restore_operator_state(node, plan)
            was_open = node.opened
            if not was_open and not _was_ended(plan):
                context.restored = bool(plan.states)
                node.operator.open()
                node.opened = True
            if not warm:
                self._restore_node(node, plan, was_open)
                self._feeding.waiting += tuple(w for blob in plan.waiting for w in self._load(blob))
        reach(Point.STATE_READY)
        return snapshots

    def _restore_operator_state(self, node: NodeRuntime, plan: NodePlan) -> None:
        context = node.operator.context
        raw = [self._bytes(state) for state in plan.operator_states]
        context.operator_state.restore([r for r in raw if r is not None], self.subtask, context.parallelism)

    def _restore_node(self, node: NodeRuntime, plan: NodePlan, was_open: bool) -> None:
        states = [s for s in (self._load(s.runtime_state) for s in plan.states) if s is not None]
        if not states:
            return
        node.output.status = min((s["status"] for s in states), key=lambda s: (s.ended, s.watermark))
        if node.ended:
            return
        node.operator.restore([s["operator"] for s in states])
        if was_open:
            node.operator.initialize_again()
        if len(states) == 1:
            _restore_metrics(node.operator, states[0])
        if len(plan.states) == 1:
            node.operator.restore_function_state(self._load(plan.states[0].function_state))

    def _announce(self, plan: LevelPlan, incoming: Incoming) -> None:
        """Tells every valve where its channels stand, and opens the exchanges."""
        graph = self.job.graph
        for node in self.nodes.values():
            node.valve.begin(node.operator.current_watermark)
            node.records = 0
            if node.operator.context.dead_letters is not None:
                node.operator.context.dead_letters.begin_epoch()
        self._feeding.announce(incoming)
        self._writers = []
        for node_id, node in self.nodes.items():
            writers: dict[str | None, list[Any]] = {}
            for edge_id in self._edges_out:
                edge = graph.edges[edge_id]
                if edge.source == node_id:
                    writer = make_writer(graph, edge, self.subtask, plan.epoch)
                    writers.setdefault(edge.tag_id, []).append(writer)
                    self._writers.append((edge_id, writer))
            node.output.begin_epoch(writers, number_of(self._clock.attempt))
        for node in self._live():
            node.operator.begin_epoch()

    def _read_sources(
        self, mine: SubtaskPlan, progress: dict[int, list[SplitProgress]], limit_ms: float | None
    ) -> Iterator[None]:
        for node_id, node in self.nodes.items():
            operator, plan = node.operator, mine.nodes[node_id].source
            if plan is None or node.ended or not isinstance(operator, SourceOperator):
                continue
            done = progress.setdefault(node_id, [])
            operator.assign(plan.assigned)
            operator.begin_reading(limit_ms)
            self._mark_time(node_id, node)
            for _ in operator.emit_waiting():
                yield
            for read in plan.reads:
                position, count, finished = read.position, 0, False
                for position, count, finished in operator.read(read.split, read.position, read.limit):  # noqa: B007
                    yield
                done.append(SplitProgress(read.split.split_id, position, finished, count))
            if plan.last and sum(p.finished for p in done) == len(plan.assigned):
                node.end()
                yield

    def _mark_time(self, node_id: int, node: NodeRuntime) -> None:
        """A marker goes before what a source reads now, if somebody wants to know how long its way is."""
        sent_ms = None if self.job.batch_mode else self._latency.due(self._marked_ms.get(node_id, 0))
        if sent_ms is not None:
            self._marked_ms[node_id] = sent_ms
            node.output.emit_latency(LatencyMarker(sent_ms, node_id, self.subtask).packed())

    # -- what leaves the task ------------------------------------------------------------------------

    def _drain(self) -> Iterator[Item]:
        for edge_id, writer in self._writers:
            for target, parcel in writer.drain():
                yield from self._sent(edge_id, target, parcel)

    def _flush(self) -> Iterator[Item]:
        for edge_id, writer in self._writers:
            for target, parcel in writer.finish():
                yield from self._sent(edge_id, target, parcel)

    def _sent(self, edge_id: int, target: int, parcel: Parcel) -> Iterator[Item]:
        if edge_id in self.stage.exchanges_out:
            self._bytes_out += _bytes_of(parcel)
            yield address(self.job, edge_id, target, parcel)
        else:
            yield from towards_act(self.stage, self.act, parcel)

    def _report(
        self,
        plan: LevelPlan,
        mine: SubtaskPlan,
        token: str,
        snapshots: dict[int, FileRef | None],
        progress: dict[int, list[SplitProgress]],
        started: float,
    ) -> SubtaskReport:
        reports, wakeups = [], []
        for node_id, node in self.nodes.items():
            operator = node.operator
            wakeup = None if node.ended else operator.next_processing_timer()
            if wakeup is not None:
                wakeups.append(wakeup)
            began = time.perf_counter()
            state = self._state_of(node, plan, mine.nodes[node_id], snapshots.get(node_id))
            state_ms = node.snapshot_ms + (time.perf_counter() - began) * 1000
            reports.append(
                NodeReport(
                    uid=operator.context.uid,
                    state=state,
                    splits=tuple(progress.get(node_id, ())),
                    committables=operator.committables if isinstance(operator, SinkOperator) else (),
                    records_in=node.records,
                    records_out=node.output.records,
                    watermark=node.output.status.watermark,
                    ended=node.ended,
                    metrics=_metrics(operator),
                    dead_letters=() if (found := operator.context.dead_letters) is None else found.taken(),
                    state_ms=state_ms,
                    compacted=_compacted(node),
                )
            )
        busy_ms = (time.perf_counter() - started) * 1000
        waiting = sum(w.values for w in self._feeding.waiting)
        waiting += sum(o.waiting for o in self._operators() if isinstance(o, SourceOperator))
        return SubtaskReport(
            self.stage.id,
            self.subtask,
            token,
            tuple(reports),
            min(wakeups, default=None),
            busy_ms,
            waiting=waiting,
            heard=self._feeding.heard,
        )

    def _operators(self) -> list[Operator]:
        return [node.operator for node in self.nodes.values()]

    def _state_of(
        self, node: NodeRuntime, plan: LevelPlan, before: NodePlan, snapshot: FileRef | None
    ) -> OperatorSubtaskState:
        operator = node.operator
        context = operator.context
        runtime = {"operator": operator.snapshot(), "status": node.output.status, **_metrics(operator)}
        function = operator.function_state() if not node.ended else None
        waiting = self._feeding.waiting_for(context.uid)
        return OperatorSubtaskState(
            keyed=self._keyed_handle(context, plan, before, snapshot),
            operator_state=self._inline(context.operator_state.snapshot()),
            function_state=None if function is None else self._inline(dumps(function)),
            runtime_state=self._inline(dumps(runtime)),
            ended=node.ended,
            waiting=self._inline(dumps(waiting)) if waiting else None,
        )

    def _keyed_handle(
        self, context: OperatorContext, plan: LevelPlan, before: NodePlan, snapshot: FileRef | None
    ) -> KeyedStateHandle | None:
        if context.keyed_state is None or before.keyed is None:
            return None
        delta = context.keyed_state.end_epoch(plan.epoch)
        return next_handle(before.keyed, snapshot, plan.epoch, delta)

    def _inline(self, data: bytes | None) -> bytes | FileRef | None:
        if data is None or len(data) <= INLINE_STATE_BYTES:
            return data
        # Named for its epoch, as all files are, so that what aborted attempts leave behind can be swept.
        name = f"shared/state/{self._clock.epoch:08d}-{uuid.uuid4().hex}"
        return self._storage.write_file(name, data)

    def _bytes(self, state: bytes | FileRef | None) -> bytes | None:
        return self._storage.read_file(state) if isinstance(state, FileRef) else state

    def _load(self, state: bytes | FileRef | None) -> Any:
        data = self._bytes(state)
        return None if data is None else loads(data)

    # -- ends ----------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        return all(node.ended for node in self.nodes.values())

    def abort(self) -> None:
        """The epoch failed here: forget its changes."""
        self.token = None
        for node in self.nodes.values():
            if node.compactor is not None:
                node.compactor.close()
            if isinstance(node.operator, SinkOperator):
                node.operator.abort()
            if node.operator.context.keyed_state is not None:
                node.operator.context.keyed_state.abort_epoch()

    def close(self) -> None:
        """The job is over, or this copy is of no more use."""
        for node in self.nodes.values():
            if node.compactor is not None:
                node.compactor.close()
            if node.opened:
                node.operator.close()
            if node.operator.context.keyed_state is not None:
                node.operator.context.keyed_state.close()


def _compacted(node: NodeRuntime) -> Compacted | None:
    keyed = node.operator.context.keyed_state
    if node.compactor is None or keyed is None or node.ended:
        return None
    return node.compactor.look(keyed.expiries())


def towards_act(stage: Stage, act: int, parcel: Parcel) -> Iterator[Carried | pa.Table]:
    """A parcel for a later act; what the segment behind this one computes on goes there as a table."""
    if act < len(stage.segments) and stage.segments[act] == parcel.edge and parcel.size:
        yield from_bytes(parcel.values)
        parcel = parcel._replace(size=0, values=b"")
    yield Carried(parcel)


def make_writer(graph: StreamGraph, edge: StreamEdge, subtask: int, seed: int) -> Any:
    """The sending end of an edge."""
    if carries_tables(edge):
        return TableWriter(graph, edge, subtask, seed)
    return ExchangeWriter(graph, edge, subtask, seed)


def _was_ended(plan: NodePlan) -> bool:
    return bool(plan.states) and all(state.ended for state in plan.states)


@functools.cache
def _host() -> str:
    return socket.gethostname()


def _bytes_of(parcel: Parcel) -> int:
    return len(parcel.values) + len(parcel.timestamps or b"")


def repeat_end(
    job: JobDefinition, stage: Stage, subtask: int, plan: LevelPlan, mine: SubtaskPlan
) -> Iterator[Outgoing | SubtaskReport]:
    """The epoch of a subtask that has ended: nothing runs, the stages behind it are told once more."""
    status = ChannelStatus(MAX_WATERMARK, False, True)
    for edge_id in stage.exchanges_out:
        writer = make_writer(job.graph, job.graph.edges[edge_id], subtask, plan.epoch)
        writer.begin(status)
        for target, parcel in writer.finish():
            yield address(job, edge_id, target, parcel)
    reports = tuple(
        NodeReport(job.graph.nodes[n].uid, mine.nodes[n].states[0], watermark=MAX_WATERMARK, ended=True)
        for n in stage.nodes
    )
    yield SubtaskReport(stage.id, subtask, ENDED, reports)


def address(job: JobDefinition, edge_id: int, target: int, parcel: Parcel) -> Outgoing:
    """Which level and partition a parcel for subtask `target` of the edge's target has to reach."""
    stage = job.stages.stages[job.stages.stage_of[job.graph.edges[edge_id].target]]
    return Outgoing(stage.level, stage.offset + target, parcel)


def _metrics(operator: Operator) -> dict[str, Any]:
    """Metrics and accumulators, which count over the whole job, whichever processes it ran in."""
    accumulators: dict[str, Any] = getattr(operator, "accumulators", dict)()
    return {"metrics": operator.context.metrics.snapshot(), "accumulators": dict(accumulators)}


def _restore_metrics(operator: Operator, state: dict[str, Any]) -> None:
    operator.context.metrics.restore(state["metrics"])
    for name, accumulator in getattr(operator, "accumulators", dict)().items():
        accumulator.reset_local()
        if name in state["accumulators"]:
            accumulator.merge(state["accumulators"][name])
