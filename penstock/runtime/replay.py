"""Runs a committed or a failed epoch again, in this process, with its exact input and state.

The job's folder has all it takes: the job as its tasks know it, the state before the epoch, what the epoch was given
(`epoch_inputs.py`), and its processing time. Sinks write nothing here, and nothing is changed in the folder: files of
state are written to a temporary place. The folder may have been copied from elsewhere. What users' functions do to
other systems they do again.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import cloudpickle
import pyarrow as pa

from penstock.checkpoint.contents import contents_of
from penstock.checkpoint.difference import Difference, compare
from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorCheckpoint
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import CheckpointError, NotSupportedError
from penstock.common.ids import EpochId
from penstock.graph.transformations import SinkTransformation
from penstock.operators.base import Operator
from penstock.runtime import worker
from penstock.runtime.epoch_inputs import (
    DEFINITION_FILE,
    EPOCH_INPUTS,
    FAILED_FILE,
    EpochInput,
    failed_epochs,
    with_splits,
)
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.plan import JobDefinition, LevelPlan, SourcePlan, SubtaskReport
from penstock.runtime.progress import JobProgress, SplitState, level_plans
from penstock.runtime.restoring import plan_restore, restored_progress
from penstock.runtime.stage import StageInstance
from penstock.runtime.worker import LevelTask, WorkerState

_RUN = "replay"


@dataclass(frozen=True)
class Seen:
    """An element that went into or came out of an operator."""

    subtask: int
    value: Any
    timestamp: int | None = None
    port: str = ""
    """Which input, or which side output."""


@dataclass
class OperatorReplay:
    """What one operator did."""

    uid: str
    name: str
    inputs: list[Seen] = field(default_factory=list)
    outputs: list[Seen] = field(default_factory=list)


@dataclass
class Replay:
    """An epoch that was run again. `error` is what it failed with here and now, `failed` what it did then."""

    epoch: int
    operators: dict[str, OperatorReplay]
    changes: Difference | None = None
    error: BaseException | None = None
    failed: str = ""


class _Silent(Operator):
    """Stands where a sink was."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        return None

    def process_table(self, input_index: int, table: pa.Table) -> None:
        return None


def replay(folder: str, epoch: int | None = None, examples: int = 20) -> Replay:
    """Runs an epoch again.

    Args:
        folder: Of a job, `<checkpoint directory>/<job id>`; or one that has a single such folder in it.
        epoch: Which one; the last one that failed if None.
        examples: How many changes of each state are told.

    Raises:
        CheckpointError: The folder does not have what it takes.
    """
    kept = _Kept(folder)
    wanted = epoch if epoch is not None else kept.failed_number()
    before, inputs = kept.to_replay(wanted)
    with tempfile.TemporaryDirectory(prefix="penstock-replay-") as scratch:
        return _Run(kept, before, scratch).run(inputs, examples)


class _Kept:
    """What a job has left in its folder."""

    def __init__(self, folder: str) -> None:
        self._files, root = filesystem_for(folder)
        names = self._files.names(root)
        if DEFINITION_FILE not in names:
            jobs = [n for n in names if DEFINITION_FILE in self._files.names(f"{root}/{n}")]
            if len(jobs) != 1:
                do = (
                    "give the folder of one of these jobs: " + ", ".join(jobs)
                    if jobs
                    else "give a job's folder"
                )
                raise CheckpointError("no job to replay here", where=root, do=do)
            root = f"{root}/{jobs[0]}"
        self.root = root
        base, _, job_id = root.rpartition("/")
        self.storage = CheckpointStorage(base, job_id)

    def definition(self) -> JobDefinition:
        surroundings, pickled = pickle.loads(self._files.read(f"{self.root}/{DEFINITION_FILE}"))
        surroundings.enter()
        job: JobDefinition = pickle.loads(pickled)
        return job

    def failed(self) -> tuple[EpochInput, ...]:
        """The epochs since the checkpoint before the last failure, the failed one last; none if none has failed."""
        try:
            return failed_epochs(self._files.read(f"{self.root}/{FAILED_FILE}"))
        except FileNotFoundError:
            return ()

    def failed_number(self) -> int:
        found = self.failed()
        if not found:
            raise CheckpointError("no epoch of this job has failed", where=self.root, do="name one: --epoch")
        return found[-1].epoch

    def to_replay(self, wanted: int) -> tuple[CheckpointMetadata | None, list[EpochInput]]:
        """The checkpoint before an epoch, and the inputs from there up to it."""
        numbers = self.storage.list_checkpoints()
        self._check_there_is(wanted, numbers)
        before = max((n for n in numbers if n < wanted), default=None)
        inputs: dict[int, EpochInput] = {}
        for number in (n for n in numbers if before is None or n > before):
            metadata = self.storage.read_metadata(self.storage.checkpoint_path(number))
            splits = {uid: source.splits for uid, source in metadata.sources.items()}
            for given in metadata.properties.get(EPOCH_INPUTS, ()):
                inputs[given.epoch] = with_splits(given, splits)
            if wanted in inputs:
                break
        if wanted not in inputs:
            inputs |= {given.epoch: given for given in self.failed()}
        needed = range((before or 0) + 1, wanted + 1)
        missing = [n for n in needed if n not in inputs]
        if missing or not needed:
            raise CheckpointError(
                f"epoch {wanted} cannot be run again: the input of epoch {missing[0] if missing else wanted} is gone",
                where=self.root,
                do="checkpoints are kept for a while only: raise execution.checkpointing.num-retained.\n"
                f"There are checkpoints {', '.join(map(str, numbers)) or 'of no epoch'}",
            )
        start = None if before is None else self.storage.read_metadata(self.storage.checkpoint_path(before))
        return start, [inputs[n] for n in needed]

    def _check_there_is(self, wanted: int, checkpoints: Sequence[int]) -> None:
        last = max([*checkpoints, *(given.epoch for given in self.failed())], default=0)
        if not 1 <= wanted <= last:
            got = f"the job got to epoch {last}" if last else "the job has not finished any"
            do = (
                f"name one up to {last}: --epoch"
                if last
                else "start the job, or give the folder of another one"
            )
            raise CheckpointError(f"there is no epoch {wanted}: {got}", where=self.root, do=do)


class _Run:
    def __init__(self, kept: _Kept, before: CheckpointMetadata | None, scratch: str) -> None:
        job = kept.definition()
        if any(stage.segments for stage in job.stages.stages):
            raise NotSupportedError(
                "replaying an epoch of a job whose linear SQL is partly computed by Catalyst",
                "a replay runs without Spark",
                do="look at the states before and after the epoch instead: penstock state diff",
            )
        former = job.storage.root
        sinks = [n.id for n in job.graph.nodes if isinstance(n.transformation, SinkTransformation)]
        silent = {node: cloudpickle.dumps(_Silent()) for node in sinks}
        self._job = replace(
            job,
            operators={**job.operators, **silent},
            storage=CheckpointStorage(f"{scratch}/state", job.job_id, durable=False),
            local_dir=f"{scratch}/local",
        )
        self._before = None if before is None else _moved(before, former, kept.root)
        self._operators = {str(n.uid): OperatorReplay(str(n.uid), n.name) for n in job.graph.nodes}

    def run(self, inputs: list[EpochInput], examples: int) -> Replay:
        progress = self._progress()
        runner = _Raising(self._job)
        result = Replay(inputs[-1].epoch, self._operators, failed=inputs[-1].error)
        for given in inputs:
            progress, sources = self._with_splits(progress, given)
            plans = level_plans(self._job, progress, given.epoch, _RUN, 0, given.processing_time_ms, sources)
            last = given is inputs[-1]
            before = progress
            try:
                with _watched(self._operators if last else None):
                    reports = runner.run(plans)
            except Exception as error:
                result.error = error
                return result
            progress = progress.after(given.epoch, reports, self._job)
        result.changes = compare(
            contents_of(self._described(before)), contents_of(self._described(progress)), examples
        )
        return result

    def _progress(self) -> JobProgress:
        if self._before is None:
            return JobProgress()
        plan = plan_restore(self._job.graph, self._before, allow_non_restored=True)
        return restored_progress(self._job.graph, self._before, plan)

    def _with_splits(
        self, progress: JobProgress, given: EpochInput
    ) -> tuple[JobProgress, dict[tuple[int, int], SourcePlan]]:
        """The progress with the splits that the epoch reads, which may have been new in it."""
        ids = {n.uid: n.id for n in self._job.graph.nodes}
        splits = {node: dict(known) for node, known in progress.splits.items()}
        sources = {(ids[uid], subtask): plan for (uid, subtask), plan in given.sources.items()}
        for (node, subtask), plan in sources.items():
            known = splits.setdefault(node, {})
            for read in plan.reads:
                known.setdefault(read.split.split_id, SplitState(read.split, subtask, read.position))
        return replace(progress, splits=splits), sources

    def _described(self, progress: JobProgress) -> CheckpointMetadata:
        nodes = self._job.graph.nodes
        operators = {
            nodes[i].uid: OperatorCheckpoint(
                nodes[i].uid, nodes[i].name, nodes[i].parallelism, nodes[i].max_parallelism, state.states
            )
            for i, state in progress.nodes.items()
        }
        return CheckpointMetadata(progress.epoch, self._job.job_id, self._job.job_name, 0, operators)


class _Raising(InProcessEpochs):
    """Raises a task's error with its traceback, for a debugger."""

    def _rows(self, task: LevelTask, rows: list[Any]) -> list[Any]:
        made = super()._rows(task, rows)
        for _, item in made:
            if isinstance(item, SubtaskReport) and item.error is not None:
                raise item.error
        return made


class _Watching(WorkerState):
    """Notes what goes into and comes out of the operators of the stages that it makes."""

    def __init__(self, operators: dict[str, OperatorReplay]) -> None:
        super().__init__()
        self._operators = operators

    def instance(self, job: JobDefinition, plan: LevelPlan, partition: int, act: int = 0) -> StageInstance:
        made = super().instance(job, plan, partition, act)
        if not hasattr(made, "watched"):
            made.watched = True  # type: ignore[attr-defined]
            for node in made.nodes.values():
                _watch(node, self._operators[str(node.operator.context.uid)], made.subtask)
        return made


def _watch(node: Any, seen: OperatorReplay, subtask: int) -> None:
    def noting(into: list[Seen], call: Callable[..., None]) -> Callable[..., None]:
        def noted(port: Any, values: list[Any], timestamps: list[int] | None) -> None:
            times: Sequence[int | None] = timestamps or [None] * len(values)
            name = "" if port in (None, 0) else str(port)
            into.extend(Seen(subtask, v, t, name) for v, t in zip(values, times, strict=True))
            call(port, values, timestamps)

        return noted

    def table_in(port: int, table: pa.Table, call: Any = node.receive_table) -> None:
        seen.inputs.extend(Seen(subtask, row, None, str(port or "")) for row in table.to_pylist())
        call(port, table)

    def table_out(table: pa.Table, call: Any = node.output.emit_table) -> None:
        seen.outputs.extend(Seen(subtask, row) for row in table.to_pylist())
        call(table)

    node.receive = noting(seen.inputs, node.receive)
    node.output._deliver = noting(seen.outputs, node.output._deliver)
    node.receive_table, node.output.emit_table = table_in, table_out


@contextmanager
def _watched(operators: dict[str, OperatorReplay] | None) -> Iterator[None]:
    """The epoch inside begins with nothing in memory, and is noted if somebody wants it."""
    here = worker.WORKER
    worker.WORKER = WorkerState() if operators is None else _Watching(operators)
    try:
        yield
    finally:
        worker.WORKER = here


def _moved(metadata: CheckpointMetadata, former: str, root: str) -> CheckpointMetadata:
    """The metadata with the files where they are now."""
    others = {
        ref: replace(ref, path=root + ref.path.removeprefix(former))
        for ref in metadata.files
        if isinstance(ref, FileRef) and ref.path.startswith(former + "/")
    }
    operators = {
        uid: replace(op, subtasks=tuple(sub.with_files(others) for sub in op.subtasks))
        for uid, op in metadata.operators.items()
    }
    return replace(metadata, epoch=EpochId(metadata.epoch), operators=operators)
