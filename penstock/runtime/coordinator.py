"""The epoch loop: plan, run, commit, publish; restart after a failure; stop when the input ends.

It lives on a thread of the driver and is the only one that changes the job's progress. What must hold
(DESIGN: the epoch): output becomes visible only after the epoch's metadata is durable, and a failed epoch
leaves no trace, because the next try starts from the same committed progress.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from penstock.checkpoint.metadata import (
    CheckpointMetadata,
    OperatorCheckpoint,
    PendingCommit,
    SourceCheckpoint,
)
from penstock.checkpoint.packing import Packer
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import DamagedStateError, PenstockError, WorkerMemoryError
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.points import Point, reach
from penstock.common.restart import RestartStrategy
from penstock.connectors.sink import Committer, SinkCoordinator
from penstock.runtime.dead_letter_output import DeadLetterGathering
from penstock.runtime.epoch_inputs import EPOCH_INPUTS, EpochInput, as_read, input_of, keep_failed, with_names
from penstock.runtime.job_log import EPOCHS, JobLog, epoch_line
from penstock.runtime.loop_request import LoopRequest
from penstock.runtime.pacing import Pacing
from penstock.runtime.plan import JobDefinition, LevelPlan, SourcePlan, SubtaskReport
from penstock.runtime.profiling import Profiling
from penstock.runtime.progress import SINK_STATES, JobProgress, level_plans, wants_snapshot
from penstock.runtime.rescaling import (
    NEW_RESOURCE_AVAILABLE,
    UPDATE_REQUIREMENT,
    Reactive,
    Replanned,
    Wanted,
    dealt_out,
    follow_cores,
    planners_of,
    told_of,
)
from penstock.runtime.restoring import plan_restore, restored_progress, where_to_go_on_from
from penstock.runtime.sampling import Sampling
from penstock.runtime.sink_coordination import coordinate
from penstock.runtime.source_planner import SourcePlanner
from penstock.runtime.statistics import JobStatistics

LOG = logging.getLogger(__name__)

IDLE_POLL_MS = 50
RETAIN_EVERY_EPOCHS = 10


class EpochRunner(Protocol):
    """Runs the tasks of an epoch; `runtime/spark/epoch_job.py` does it on Spark."""

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class CoordinatorSettings:
    """What the configuration decides about the loop.

    `durable`: metadata is written for every epoch. Without `execution.checkpointing.dir` nobody could ever
    restore from it, so only the driver's memory keeps the progress.
    """

    durable: bool
    retained_checkpoints: int = 1
    commit_attempts: int = 5
    run_all_in_one_epoch: bool = False
    checkpoint_interval_ms: float | None = None
    """At least so long between two checkpoints; None: every epoch is one."""
    limit_ms: float | None = None
    """For how long the tasks of an epoch take input; what they have not processed then waits for the next epoch."""
    max_epochs: int | None = None
    logs_epochs: bool = False
    """Whether each epoch is a line of the log."""
    clock_ms: Callable[[], int] = lambda: int(time.time() * 1000)


class Coordinator:
    """Runs one job to its end."""

    def __init__(
        self,
        job: JobDefinition,
        runner: EpochRunner,
        sources: Sequence[SourcePlanner],
        committers: dict[OperatorUid, Committer],
        storage: CheckpointStorage,
        pacing: Pacing,
        restart: RestartStrategy,
        settings: CoordinatorSettings,
        progress: JobProgress | None = None,
        sink_coordinators: Mapping[OperatorUid, SinkCoordinator] | None = None,
        replan: Callable[[Wanted], Replanned] | None = None,
        reactive: Reactive | None = None,
    ) -> None:
        self.job = job
        self.progress = progress or JobProgress()
        self.statistics = JobStatistics(job)
        self.sampling = Sampling()
        self.profiling = Profiling()
        self._log = JobLog(LOG, job.job_id)
        self._epoch_log = JobLog(logging.getLogger(EPOCHS), job.job_id)
        self._runner = runner
        self._sources = sources
        self._committers = committers
        self._storage = storage
        self._pacing = pacing
        self._dead_letters = DeadLetterGathering(job)
        self._packer = Packer(storage)
        self._restart = restart
        self._settings = settings
        self._sink_coordinators = sink_coordinators or {}
        self._run_id = uuid.uuid4().hex
        self._attempt_number = 0
        # Nobody knows the timers of restored state, nor a watermark on its way: the first epoch tells.
        self._next_timer_ms: int | None = None if progress is None else 0
        self._wake = threading.Condition()
        self._requests: list[LoopRequest] = []
        self._takes_requests = True
        self._cancelled = False
        self._unpublished: CheckpointMetadata | None = None
        self._planned_ms = 0.0
        self._epoch_began_ms = 0
        self._pending: dict[OperatorUid, list[Any]] = {}
        """Output of epochs since the last checkpoint; the next one makes it durable, then it is published."""
        self._checkpointed = self.progress.epoch
        self._checkpoint_count = 0
        self._inputs: list[EpochInput] = []
        """What the epochs since the last checkpoint were given."""
        self._running: EpochInput | None = None
        self._next_checkpoint = time.monotonic() + (settings.checkpoint_interval_ms or 0) / 1000
        self._replan = replan
        self._reactive = reactive
        # Whether elements wait in subtasks; of a restored job nobody knows before its first epoch.
        self._waiting = progress is not None

    # -- called from other threads -------------------------------------------------------------------

    def cancel(self) -> None:
        with self._wake:
            self._cancelled = True
            self.statistics.lifecycle.enter("CANCELLING")
            self._wake.notify_all()
        self._runner.cancel()

    def between_epochs(self, action: Callable[[], Any], ends_job: bool = False) -> LoopRequest:
        """Asks the loop to run `action` when no epoch is running; refused if the loop has ended."""
        request = LoopRequest(action, ends_job)
        with self._wake:
            if self._takes_requests:
                self._requests.append(request)
                self._wake.notify_all()
            else:
                request.refuse()
        return request

    def checkpoint_now(self) -> EpochId:
        """The checkpoint that has everything up to now: the last epoch's. Only as an action of `between_epochs`."""
        return self.progress.epoch

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def drain(self) -> None:
        """One last epoch, which reads nothing and ends all sources. Only as an action of `between_epochs`."""
        if self.progress.ended:
            return
        at_the_end = SourcePlan((), frozenset(), last=True)
        plans = {(s.node.id, i): at_the_end for s in self._sources for i in range(s.node.parallelism)}
        try:
            self._run_epoch(EpochId(self.progress.epoch + 1), self._settings.clock_ms(), plans, None)
        except Exception:
            self._next_attempt()  # the job goes on, but not with what this epoch left in the workers
            raise

    def rescale(self, wanted: Wanted, cause: str = UPDATE_REQUIREMENT) -> None:
        """Goes on with another parallelism. Only as an action of `between_epochs`.

        Raises:
            ValidationError: The program cannot have it; the job goes on as it was.
        """
        if self._replan is None or self.progress.ended:
            return
        with told_of(self.statistics, cause):
            self._rescale(self._replan(wanted))

    def _rescale(self, planned: Replanned) -> None:
        job, graph = planned.job, planned.graph
        if [n.parallelism for n in graph.nodes] == [n.parallelism for n in self.job.graph.nodes]:
            return
        committed = self.describe(self.progress)
        plan = plan_restore(graph, committed, allow_non_restored=False)
        progress = dealt_out(restored_progress(graph, committed, plan, self.progress.claimed), graph.nodes)
        sources = planners_of(graph, job, committed)
        self._runner.close()  # before tasks of the new kind begin: functions are closed, then opened
        former, self._sources = self._sources, sources
        for source in former:
            source.enumerator.close()
        self.job, self.progress, self._runner = job, progress, planned.make_runner()
        self.statistics.rescaled(job)
        self._dead_letters = DeadLetterGathering(job)
        self._next_attempt()
        self._next_timer_ms, self._waiting = (
            0,
            True,
        )  # nobody knows before the first epoch, as after a restore

    # -- the loop ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs until the input has ended, the job is cancelled or stopped, or a failure is final."""
        try:
            while not self._cancelled and not self._finished():
                if self._unpublished is None and self._serve_requests():
                    return
                try:
                    self._react()
                    if not self._step():
                        self._wait()
                except Exception as error:
                    self._after_failure(error)
        finally:
            self._refuse_requests()
            self._close()

    def _react(self) -> None:
        cores = self._reactive.change() if self._reactive and self._unpublished is None else None
        wanted = follow_cores(self.job.graph, cores) if cores is not None else {}
        if wanted:
            LOG.info("job '%s': Spark runs %d tasks at a time, and so does the job", self.job.job_name, cores)
            self.rescale(wanted, NEW_RESOURCE_AVAILABLE)

    def _finished(self) -> bool:
        if self._unpublished is not None:
            return False
        limit = self._settings.max_epochs
        return self.progress.ended or (limit is not None and self.progress.epoch >= limit)

    def _step(self) -> bool:
        """Runs one epoch if there is a reason to; False if the job has nothing to do now."""
        if self._unpublished is not None:  # the epoch has happened, its output was not made visible
            self._publish(self._unpublished)
            return True
        if self._checkpointed != self.progress.epoch and (self._requests or self._is_due()):
            self._publish(self._checkpoint(self.progress, self._pending))
            return True
        now_ms = self._settings.clock_ms()
        began = time.perf_counter()
        plans, worthwhile = self._plan_sources(now_ms)
        timer_due = self._next_timer_ms is not None and self._next_timer_ms <= now_ms
        if not worthwhile and not timer_due and not self._waiting and not self._must_end():
            return False
        self._planned_ms = (time.perf_counter() - began) * 1000
        self._run_epoch(EpochId(self.progress.epoch + 1), now_ms, plans, self._settings.limit_ms)
        return True

    def _must_end(self) -> bool:
        """All input has been read, but the operators have not been told yet (an empty source, a restore)."""
        return all(s.all_finished(self.progress.splits.get(s.node.id, {})) for s in self._sources)

    def _plan_sources(self, now_ms: int) -> tuple[dict[tuple[int, int], SourcePlan], bool]:
        splits = {s.node.id: s.discover(self.progress.splits.get(s.node.id, {})) for s in self._sources}
        self.progress = replace(self.progress, splits=splits)
        budget = None if self._settings.run_all_in_one_epoch else self._pacing.next_budget()
        slowest = self._slowest_by_group()
        plans: dict[tuple[int, int], SourcePlan] = {}
        worthwhile = False
        for source in self._sources:
            group = source.alignment_group
            held_back = group is not None and group in slowest and source.is_ahead_of(slowest[group])
            held_back = held_back or self._waiting
            by_subtask, busy = source.plan(splits[source.node.id], now_ms, budget, held_back)
            worthwhile = worthwhile or busy
            plans.update({(source.node.id, i): plan for i, plan in by_subtask.items()})
        return plans, worthwhile

    def _slowest_by_group(self) -> dict[str, int]:
        slowest: dict[str, int] = {}
        for source in self._sources:
            group, watermark = source.alignment_group, source.watermark
            if group is not None and watermark is not None:
                slowest[group] = min(slowest.get(group, watermark), watermark)
        return slowest

    def _run_epoch(
        self,
        epoch: EpochId,
        now_ms: int,
        sources: dict[tuple[int, int], SourcePlan],
        limit_ms: float | None,
    ) -> None:
        started = time.perf_counter()
        self.statistics.now(f"running epoch {epoch}")
        self._epoch_began_ms = int(time.time() * 1000)
        self._adopt_packed_deltas()
        plans = level_plans(
            self.job, self.progress, epoch, self._run_id, self._attempt_number, now_ms, sources, limit_ms,
            self.sampling.watched(), self.profiling.watched(),
        )  # fmt: skip
        given = self._running = input_of(self.job, epoch, now_ms, sources)
        reach(Point.PLANNED)
        launched = time.perf_counter()
        reports = self._runner.run(plans)  # the one Spark job of this epoch
        ran = time.perf_counter()
        reach(Point.REPORTED)
        progress = self.progress.after(epoch, reports, self.job)
        ends = coordinate(self._sink_coordinators, reports, progress.sinks, now_ms, progress.ended)
        self._dead_letters.add(ends.commits, reports, epoch, now_ms)
        progress = replace(progress, sinks=ends.states)
        self._inputs = [*(i for i in self._inputs if i.epoch < epoch), as_read(given, reports)]
        self._commit(progress, ends.commits)  # after this line the epoch has happened
        ended = time.perf_counter()
        work_ms = self._work_ms(reports)
        growth_bytes = max((report.growth_bytes for report in reports), default=0)
        self._pacing.observe(_busiest_read(reports), (ended - started) * 1000, work_ms, growth_bytes)
        self._pacing.left_over(_share_done(reports))
        self._learn(reports, ends.wake_ms)
        self.sampling.take(reports)
        self.profiling.take(reports)
        self.statistics.epoch_done(
            epoch,
            reports,
            (ended - started) * 1000,
            (ran - launched) * 1000,
            planning_ms=self._planned_ms + (launched - started) * 1000,
            working_ms=work_ms,
            committing_ms=(ended - ran) * 1000,
            path=self._storage.checkpoint_path(epoch) if self._settings.durable else None,
        )
        if self._settings.logs_epochs:
            self._log_epoch()

    def _log_epoch(self) -> None:
        """The line of the last epoch."""
        last = self.statistics.checkpoints.latest["completed"]
        timing = self.statistics.recent[-1]
        sizes = {"state_bytes": last.state_bytes, "written_bytes": last.written_bytes}
        self._epoch_log.info(epoch_line(timing, **sizes))

    def _adopt_packed_deltas(self) -> None:
        """Goes on with the files that were packed meanwhile, and has more of them packed."""
        handles = self.progress.keyed_handles()
        for place, packed in self._packer.take().items():
            handle = packed.adopted(handles[place]) if place in handles else None
            if handle is None:
                self._packer.discard(packed)
            else:
                self.progress = self.progress.with_handle(*place, handle)
        handles = self.progress.keyed_handles()
        settled = {
            p: handle for p, handle in handles.items() if not wants_snapshot(handle, self.job.snapshots)
        }
        self._packer.ask(settled)

    def _commit(self, progress: JobProgress, commits: dict[OperatorUid, list[Any]]) -> None:
        """The epoch's checkpoint; between two checkpoints the driver alone knows of it, and keeps its output."""
        pending = {uid: [*self._pending.get(uid, ()), *items] for uid, items in commits.items()}
        pending = {**self._pending, **pending}
        if self._is_due() or progress.ended or progress.epoch == self._settings.max_epochs:
            self._publish(self._checkpoint(progress, pending))
        else:
            self.progress, self._pending = progress, pending
            self._show()

    def _show(self) -> None:
        """Lets people see at once what they print; everybody else waits for the checkpoint."""
        for uid in list(self._pending):
            committer = self._committers.get(uid)
            if committer is not None and committer.waits_for_no_checkpoint:
                committer.commit(tuple(self._pending.pop(uid)))

    def _is_due(self) -> bool:
        return self._settings.checkpoint_interval_ms is None or time.monotonic() >= self._next_checkpoint

    def _checkpoint(self, progress: JobProgress, commits: dict[OperatorUid, list[Any]]) -> CheckpointMetadata:
        metadata = self.describe(progress, commits)
        if self._settings.durable:
            reach(Point.METADATA_NEXT)
            self._storage.write_metadata(metadata)
            reach(Point.METADATA_WRITTEN)
        self.progress, self._checkpointed, self._pending = progress, progress.epoch, {}
        self._inputs = []
        self._unpublished = metadata
        self._next_checkpoint = time.monotonic() + (self._settings.checkpoint_interval_ms or 0) / 1000
        self._checkpoint_count += 1
        if not self._settings.durable:
            self._storage.release_unnamed(metadata)
        elif self._checkpoint_count % RETAIN_EVERY_EPOCHS == 0:
            self._storage.retain(self._settings.retained_checkpoints)
        return metadata

    def describe(
        self, progress: JobProgress, commits: dict[OperatorUid, list[Any]] | None = None
    ) -> CheckpointMetadata:
        """The checkpoint that `progress` amounts to."""
        nodes = self.job.graph.nodes
        operators = {
            nodes[i].uid: OperatorCheckpoint(
                nodes[i].uid, nodes[i].name, nodes[i].parallelism, nodes[i].max_parallelism, state.states
            )
            for i, state in progress.nodes.items()
        }
        sources = {
            s.node.uid: SourceCheckpoint(
                s.node.uid,
                s.enumerator.snapshot(),
                {
                    split_id: (state.split, state.position, state.finished, state.subtask)
                    for split_id, state in progress.splits.get(s.node.id, {}).items()
                },
            )
            for s in self._sources
        }
        return CheckpointMetadata(
            epoch=progress.epoch,
            job_id=self.job.job_id,
            job_name=self.job.job_name,
            timestamp_ms=self._settings.clock_ms(),
            operators=operators,
            sources=sources,
            commits=tuple(PendingCommit(uid, tuple(items)) for uid, items in (commits or {}).items()),
            finished=progress.ended,
            properties={
                **({SINK_STATES: dict(progress.sinks)} if progress.sinks else {}),
                **({EPOCH_INPUTS: self._named_inputs(sources)} if self._inputs else {}),
            },
        )

    def _named_inputs(self, sources: Mapping[OperatorUid, SourceCheckpoint]) -> tuple[EpochInput, ...]:
        known = {uid: source.splits for uid, source in sources.items()}
        return tuple(with_names(given, known) for given in self._inputs)

    def _publish(self, metadata: CheckpointMetadata) -> None:
        reach(Point.PUBLISH_NEXT)
        publish_commits(metadata, self._committers, self._settings.commit_attempts)
        reach(Point.PUBLISHED)
        self._unpublished = None
        for source in self._sources:
            splits = self.progress.splits.get(source.node.id, {})
            source.enumerator.on_committed({k: s.position for k, s in splits.items()})
            self.statistics.pending[source.node.uid] = source.pending(splits)
        reach(Point.SOURCES_TOLD)

    def _work_ms(self, reports: Sequence[SubtaskReport]) -> float:
        """The slowest task of each level, one after the other."""
        slowest: dict[int, float] = {}
        for report in reports:
            level = self.job.stages.stages[report.stage].level
            slowest[level] = max(slowest.get(level, 0.0), report.task_ms or report.busy_ms)
        return sum(slowest.values())

    def _learn(self, reports: Sequence[SubtaskReport], sinks_wake_ms: int | None) -> None:
        wakeups = [r.next_wakeup_ms for r in reports if r.next_wakeup_ms is not None]
        wakeups += [] if sinks_wake_ms is None else [sinks_wake_ms]
        self._next_timer_ms = min(wakeups, default=None)
        self._waiting = any(report.waiting for report in reports)
        by_uid = {s.node.uid: s for s in self._sources}
        for report in reports:
            for node in report.nodes:
                if node.uid in by_uid:
                    by_uid[node.uid].watermark_by_subtask[report.subtask] = node.watermark

    # -- waiting, failing, stopping ------------------------------------------------------------------

    def _wait(self) -> None:
        """Sleeps until a timer is due, a source may have data, or somebody calls."""
        self.statistics.now("waiting for input")
        now_ms = self._settings.clock_ms()
        wakeups = [s.enumerator.next_wakeup_ms(now_ms) for s in self._sources]
        until_ms = min([w for w in wakeups if w is not None], default=now_ms + IDLE_POLL_MS)
        if any(w is None for w in wakeups):
            until_ms = min(until_ms, now_ms + IDLE_POLL_MS)
        if self._next_timer_ms is not None:
            until_ms = min(until_ms, self._next_timer_ms)
        if self._checkpointed != self.progress.epoch:
            until_ms = min(until_ms, now_ms + int((self._next_checkpoint - time.monotonic()) * 1000))
        with self._wake:
            if not self._cancelled and not self._requests:
                self._wake.wait(max(1, until_ms - now_ms) / 1000)

    def _after_failure(self, error: Exception) -> None:
        """Goes on from the last committed epoch after the restart strategy's delay, or gives up.

        The strategy is only asked where another try can help.
        """
        if self._cancelled:
            return
        if isinstance(error, DamagedStateError):
            error.do = where_to_go_on_from(self._storage, self.job)
        if isinstance(error, WorkerMemoryError):
            self._pacing.too_large()
        self._keep_failed(error)
        delay_ms = self._restart.on_failure(self._settings.clock_ms()) if _worth_a_retry(error) else None
        failed = EpochId(self.progress.epoch + 1)
        self.statistics.epoch_failed(failed, error, delay_ms is None, self._epoch_began_ms)
        if delay_ms is None:
            raise error
        self._log.warning(
            "epoch %d failed and is run again in %d ms: %s", self.progress.epoch + 1, delay_ms, error
        )
        self.statistics.restarts += 1
        self.statistics.now(f"restarting in {delay_ms / 1000:g} s")
        self.statistics.lifecycle.enter("RESTARTING")
        self._next_attempt()
        with self._wake:
            if not self._cancelled:
                self._wake.wait(delay_ms / 1000)
            if not self._cancelled:
                self.statistics.lifecycle.enter("RUNNING")

    def _keep_failed(self, error: Exception) -> None:
        """Leaves what the failed epoch was given, for a replay; a job does not fail for want of that."""
        if self._settings.durable and self._running is not None and self._running.epoch > self.progress.epoch:
            try:
                told = error.what if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
                keep_failed(self._storage, [*self._inputs, replace(self._running, error=told)])
            except Exception as refused:
                LOG.debug("the failed epoch is not kept: %s", refused)

    def _next_attempt(self) -> None:
        """What the workers have in memory is not used any more: functions are opened anew, state is restored."""
        self._attempt_number += 1
        self._run_id = uuid.uuid4().hex
        self.progress = self.progress.restarted()

    def _serve_requests(self) -> bool:
        """Runs what others asked for; True if that ended the job. They wait until all is in a checkpoint."""
        if self._checkpointed != self.progress.epoch:
            return False
        with self._wake:
            requests, self._requests = self._requests, []
        for request in requests:
            request.serve()
        return any(r.ends_job and r.error is None for r in requests)

    def _refuse_requests(self) -> None:
        """The loop has ended: those who wait are told, and so is everybody who comes later."""
        with self._wake:
            self._takes_requests = False
            requests, self._requests = self._requests, []
        for request in requests:
            request.refuse()

    def _close(self) -> None:
        for source in self._sources:
            source.enumerator.close()
        for committer in self._committers.values():
            committer.close()
        self._packer.close()
        if not self.progress.ended:
            try:
                self._runner.close()
            except PenstockError as error:
                self._log.warning("%s", error)


def publish_commits(
    metadata: CheckpointMetadata, committers: dict[OperatorUid, Committer], attempts: int
) -> None:
    """Makes a checkpoint's output visible; committing is idempotent, so it is simply tried again."""
    for pending in metadata.commits:
        committer = committers.get(pending.uid)
        if committer is None:
            continue
        for attempt in range(1, attempts + 1):
            try:
                reach(Point.COMMITTER_NEXT)
                committer.commit(pending.committables)
                reach(Point.COMMITTER_DONE)
                break
            except Exception as error:
                if attempt == attempts or not _worth_a_retry(error):
                    raise
                time.sleep(0.1 * 2**attempt)


def _worth_a_retry(error: Exception) -> bool:
    """What is not ours (a connector's OSError, say) may be over the next time."""
    return not isinstance(error, PenstockError) or error.retryable


def _busiest_read(reports: Sequence[SubtaskReport]) -> int:
    return max((sum(s.records for n in r.nodes for s in n.splits) for r in reports), default=0)


def _share_done(reports: Sequence[SubtaskReport]) -> float:
    """Of what the subtask with most left to do has received, the part that it has processed."""
    shares = []
    for report in (r for r in reports if r.waiting):
        received = max((node.records_in for node in report.nodes), default=0)
        shares.append(received / (received + report.waiting))
    return min(shares, default=1.0)
