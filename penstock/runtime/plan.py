"""What travels between driver and tasks in an epoch: the plan out, the reports back. Plain data.

The job's definition is broadcast once. Each epoch sends a small `LevelPlan` per level with the tasks'
closures; the tasks answer with one `SubtaskReport` each, which travels through the same shuffles as the data,
so the driver sees exactly the attempts whose output was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.checkpoint.handles import FileRef, OperatorSubtaskState
from penstock.checkpoint.packing import Compacted
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.ids import EpochId, OperatorUid
from penstock.connectors.source import ReadLimit, SourceSplit
from penstock.graph.stages import StagePlan
from penstock.graph.stream_graph import StreamGraph
from penstock.operators.dead_letters import DeadLetter
from penstock.runtime.profiling import Stacks
from penstock.runtime.sampling import RowSample
from penstock.state.backend import KeyedStateRestore


@dataclass(frozen=True)
class SnapshotSettings:
    """When keyed state is written anew.

    Attributes:
        min_growth_bytes: Fewer changed bytes of a subtask are no reason.
        background_bytes: A state from here on is written beside the epochs.
    """

    min_growth_bytes: int = 8 << 20
    background_bytes: int = 32 << 20


@dataclass(frozen=True)
class JobDefinition:
    """What every task of a job must know; broadcast once. `operators` holds a pickle per node.

    `job_parameters` are the user's own, for `get_job_parameter` of the runtime context.
    """

    job_id: str
    job_name: str
    graph: StreamGraph
    stages: StagePlan
    operators: Mapping[int, bytes]
    configuration: Mapping[str, str]
    batch_mode: bool
    backend: str
    storage: CheckpointStorage
    local_dir: str
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    worker_memory_bytes: int | None = None
    """What a Python worker may use; None: a share of the machine it is on."""
    snapshots: SnapshotSettings = SnapshotSettings()


@dataclass(frozen=True)
class SplitRead:
    """One split's share of an epoch."""

    split: SourceSplit
    position: Any
    limit: ReadLimit


@dataclass(frozen=True)
class SourcePlan:
    """What a source subtask does in an epoch.

    `assigned` names all its unfinished splits, read in this epoch or not: each of them holds the watermark
    back. `last` if no other split will ever come.
    """

    reads: tuple[SplitRead, ...] = ()
    assigned: frozenset[str] = frozenset()
    last: bool = False


@dataclass(frozen=True)
class NodePlan:
    """One operator subtask's committed state.

    `states` has one entry normally, none for a new operator, and any number after a change of parallelism.
    `operator_states` and `waiting` likewise: its own, or those of all former subtasks to be re-cut.
    """

    states: tuple[OperatorSubtaskState, ...] = ()
    operator_states: tuple[bytes | FileRef, ...] = ()
    keyed: KeyedStateRestore | None = None
    source: SourcePlan | None = None
    waiting: tuple[bytes | FileRef, ...] = ()


@dataclass(frozen=True)
class SubtaskPlan:
    """One stage subtask's epoch.

    `token` names the attempt whose state is the committed one (None: nobody's). `ended`: all its operators
    finished in an earlier epoch, so it only repeats that to the stages behind it.
    """

    token: str | None
    nodes: Mapping[int, NodePlan]
    ended: bool = False


@dataclass(frozen=True)
class LevelPlan:
    """The epoch as the tasks of one level see it; `subtasks` is indexed by partition."""

    epoch: EpochId
    run_id: str
    attempt_number: int
    processing_time_ms: int
    level: int
    subtasks: tuple[SubtaskPlan, ...]
    limit_ms: float | None = None
    """For how long a task takes input; None: until it has all."""
    sampled: frozenset[int] = frozenset()
    """Stages of which somebody wants to see rows."""
    profiled: frozenset[int] = frozenset()
    """Stages of which somebody wants to see stacks."""


@dataclass(frozen=True)
class SplitProgress:
    """How far a split was read: the position to go on from, and whether it is finished."""

    split_id: str
    position: Any
    finished: bool
    records: int


@dataclass(frozen=True)
class NodeReport:
    """What became of one operator subtask in an epoch."""

    uid: OperatorUid
    state: OperatorSubtaskState
    splits: tuple[SplitProgress, ...] = ()
    committables: tuple[Any, ...] = ()
    records_in: int = 0
    records_out: int = 0
    watermark: int = 0
    ended: bool = False
    metrics: Mapping[str, Any] = field(default_factory=dict)
    dead_letters: tuple[DeadLetter, ...] = ()
    state_ms: float = 0.0
    """How long it took to write its state: the changes, and a snapshot if one was taken."""
    compacted: Compacted | None = None
    """A snapshot that was written beside the last epochs."""


@dataclass(frozen=True)
class SubtaskReport:
    """What became of one stage subtask. With `error` set nothing else counts."""

    stage: int
    subtask: int
    token: str
    nodes: tuple[NodeReport, ...] = ()
    next_wakeup_ms: int | None = None
    busy_ms: float = 0.0
    error: BaseException | None = None
    growth_bytes: int = 0
    """What the worker needed for the epoch, beyond what it had before."""
    task_ms: float = 0.0
    """How long the subtask's task had worked when it was done; 0 if `busy_ms` says all."""
    waiting: int = 0
    """Elements that were received or read and have to wait for the next epoch."""
    heard: Mapping[int, int] = field(default_factory=dict)
    """Which runs of its senders the subtask has taken input from, by edge (`attempts.py`)."""
    bytes_in: int = 0
    """Encoded elements that came through exchanges; `bytes_out`: that left through them."""
    bytes_out: int = 0
    worker: tuple[str, int] = ("", 0)
    """Host and process that it ran in."""
    warm: bool = False
    """The process had the committed state in memory: nothing was read to begin the epoch."""
    sample: RowSample | None = None
    """Some of the rows that left the stage, if the plan asked for them."""
    stacks: Stacks = field(default_factory=dict)
    """What its code was seen doing, if the plan asked for that."""
