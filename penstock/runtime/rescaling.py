"""Another parallelism for a running job, between two epochs and without a restart of its driver.

The program's graph is made anew with other numbers, and the job goes on from the progress that it has just committed
as a job does that is started from a checkpoint (`checkpoint/resolve.py` decides who takes over what). Nothing has to
be written first: files of state are cut by key groups when they are read.

In reactive mode (`scheduler-mode: reactive`) the numbers follow the cores that Spark has.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.common.errors import ValidationError
from penstock.common.ids import OperatorUid
from penstock.graph.stream_graph import GraphSettings, StreamGraph, StreamNode, build_stream_graph
from penstock.graph.transformations import Transformation
from penstock.runtime.history import now_ms
from penstock.runtime.plan import JobDefinition
from penstock.runtime.progress import JobProgress, SplitState
from penstock.runtime.restoring import enumerator_states
from penstock.runtime.source_planner import SourcePlanner
from penstock.runtime.statistics import JobStatistics

if TYPE_CHECKING:
    from penstock.runtime.coordinator import EpochRunner

LOG = logging.getLogger(__name__)

Wanted = int | Mapping[str, int]
LOOK_SECONDS = 1.0

UPDATE_REQUIREMENT = "UPDATE_REQUIREMENT"
NEW_RESOURCE_AVAILABLE = "NEW_RESOURCE_AVAILABLE"
"""Why a job is rescaled, in Flink's words: somebody asked, or Spark has more or fewer cores."""


@dataclass(frozen=True)
class Replanned:
    """A job with other numbers: what the coordinator goes on with."""

    job: JobDefinition
    graph: StreamGraph
    make_runner: Callable[[], EpochRunner]


def rescaled_graph(
    sinks: Sequence[Transformation], settings: GraphSettings, before: StreamGraph, wanted: Wanted
) -> StreamGraph:
    """The same program with another parallelism.

    Args:
        wanted: For all operators that have not been given one by the program, or by uid.

    Raises:
        ValidationError: There is no such operator, or it cannot have that parallelism.
    """
    numbers = _numbers(before, wanted)
    fixed = {OperatorUid(n.uid): n.max_parallelism for n in before.nodes}
    chosen = replace(settings, of_uids=numbers, max_of_uids=fixed)
    return build_stream_graph(sinks, chosen)


def _numbers(before: StreamGraph, wanted: Wanted) -> dict[OperatorUid, int]:
    now = {node.uid: node.parallelism for node in before.nodes}
    by_uid = {node.uid: node for node in before.nodes}
    if isinstance(wanted, int):
        free = [node for node in before.nodes if _follows(node, before.settings.parallelism)]
        if not free:
            raise ValidationError(
                "the program has given every operator a parallelism of its own",
                do="name those to rescale, by uid",
            )
        _check(wanted, "the job")
        most = max(node.max_parallelism for node in free)
        if wanted > most:
            raise _above_max(wanted, "the job", most)
        asked = {node.uid: min(wanted, node.max_parallelism) for node in free}
    else:
        asked = {OperatorUid(uid): number for uid, number in wanted.items()}
    for uid, number in asked.items():
        if uid not in by_uid:
            known = ", ".join(f"'{n.uid}' ({n.name})" for n in before.nodes)
            raise ValidationError(f"the job has no operator '{uid}'", do=f"use one of {known}")
        _check(number, f"'{by_uid[uid].name}'")
        if number > by_uid[uid].max_parallelism:
            raise _above_max(number, f"'{by_uid[uid].name}'", by_uid[uid].max_parallelism)
    return {**now, **asked}


def _above_max(number: int, whose: str, most: int) -> ValidationError:
    return ValidationError(
        f"the parallelism {number} of {whose} is above its max parallelism {most}",
        do="a max parallelism cannot change in a job's life: choose a smaller parallelism",
    )


def _follows(node: StreamNode, default: int) -> bool:
    """Whether an operator has the job's parallelism, and not one of its own; what has to be 1 stays so."""
    own = node.transformation.parallelism
    return own is None or (own == default and default > 1)


def _check(number: int, whose: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValidationError(f"{number!r} is not a parallelism for {whose}", do="use a number from 1 on")


def follow_cores(graph: StreamGraph, cores: int) -> dict[str, int]:
    """Parallelism by uid in reactive mode; empty where nothing can follow.

    As in Flink a parallelism that the program has set does not count there, only a max parallelism does. What has
    been set to 1 stays at 1 all the same: a stream may have been made one because it has to be.
    """
    if graph.settings.batch_mode:
        return {}
    return {
        str(node.uid): min(cores, node.max_parallelism)
        for node in graph.nodes
        if node.transformation.parallelism != 1
    }


def dealt_out(progress: JobProgress, nodes: Sequence[StreamNode]) -> JobProgress:
    """Splits that are not read to their end, round-robin over the subtasks that their source has now."""
    splits = dict(progress.splits)
    for node in nodes:
        if node.id in splits:
            splits[node.id] = _dealt(splits[node.id], node.parallelism)
    return replace(progress, splits=splits)


def _dealt(splits: Mapping[str, SplitState], parallelism: int) -> dict[str, SplitState]:
    unfinished = [split_id for split_id, state in splits.items() if not state.finished]
    owners = {split_id: number % parallelism for number, split_id in enumerate(unfinished)}
    return {
        split_id: replace(state, subtask=owners.get(split_id, state.subtask % parallelism))
        for split_id, state in splits.items()
    }


def planners_of(graph: StreamGraph, job: JobDefinition, committed: CheckpointMetadata) -> list[SourcePlanner]:
    """The sources with enumerators that go on where the former ones are."""
    former = enumerator_states(committed.sources, committed.epoch)
    return [
        SourcePlanner(node, job.configuration, former.get(node.uid)) for node in graph.nodes if node.is_source
    ]


@contextmanager
def told_of(statistics: JobStatistics, cause: str) -> Iterator[None]:
    """Notes what becomes of a rescaling: done, needless, or failed."""
    began, before, failure = now_ms(), _parallelism(statistics), None
    try:
        yield
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        raise
    finally:
        statistics.rescales.add(cause, began, before, _parallelism(statistics), failure)


def _parallelism(statistics: JobStatistics) -> dict[str, int]:
    return {str(node.uid): node.parallelism for node in statistics.job.graph.nodes}


class Reactive:
    """What parallelism the job should have, by what Spark has; asked between epochs.

    Args:
        cores: How many tasks Spark can run at a time now.
    """

    def __init__(self, cores: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._cores = cores
        self._clock = clock
        self._looked: float | None = None
        self._current: int | None = None

    def change(self) -> int | None:
        """The parallelism to change to; None if all is well, or if it was looked a moment ago."""
        now = self._clock()
        if self._looked is not None and now - self._looked < LOOK_SECONDS:
            return None
        self._looked = now
        cores = max(1, self._cores())
        if cores == self._current:
            return None
        self._current = cores
        return cores
