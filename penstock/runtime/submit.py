"""From a program's transformations to a running job: the last step of `execute()`.

transformations ─▶ stream graph ─▶ stages ─▶ job definition (broadcast) ─▶ coordinator thread
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.checkpoint.claims import claim
from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.checkpoint.savepoint import RunAll, one_by_one, write_savepoint
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.config_check import check_configuration
from penstock.common.configuration import Configuration
from penstock.common.errors import PenstockError, ValidationError
from penstock.common.ids import OperatorUid
from penstock.common.job_status import JobStatus
from penstock.common.options import (
    CheckpointingOptions,
    EpochOptions,
    ExecutionOptions,
    PipelineOptions,
    StateOptions,
    WorkerOptions,
)
from penstock.common.pickling import ship
from penstock.common.points import Point, reach
from penstock.common.restart import RestartStrategy
from penstock.common.table_type import TableTypeInfo
from penstock.common.time import to_millis
from penstock.connectors.sink import Committer, SinkCoordinator
from penstock.connectors.source import Boundedness
from penstock.graph.plan import plan_json
from penstock.graph.stages import plan_stages
from penstock.graph.stream_graph import GraphSettings, StreamGraph, StreamNode, build_stream_graph
from penstock.graph.transformations import (
    OperatorTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from penstock.operators.base import Operator
from penstock.operators.sink import SinkOperator
from penstock.operators.source import SourceOperator
from penstock.runtime import job_registry
from penstock.runtime.coordinator import Coordinator, CoordinatorSettings, EpochRunner, publish_commits
from penstock.runtime.dead_letter_output import dead_letter_committer
from penstock.runtime.dependencies import bring_along, collect_dependencies
from penstock.runtime.epoch_inputs import keep_definition
from penstock.runtime.identity import JobIdentity, choose_identity, mark_ended
from penstock.runtime.job_description import JobDescription
from penstock.runtime.job_list import listing
from penstock.runtime.latency import LatencySettings
from penstock.runtime.open_lineage import lineage_telling
from penstock.runtime.pacing import COMFORTABLE_BYTES, LIMIT_FACTOR, Pacing
from penstock.runtime.plan import JobDefinition, SnapshotSettings
from penstock.runtime.progress import JobProgress
from penstock.runtime.progress_line import starting
from penstock.runtime.reporting import reporting
from penstock.runtime.rescaling import Reactive, Replanned, Wanted, rescaled_graph
from penstock.runtime.restoring import (
    RestorePoint,
    enumerator_states,
    find_restore_point,
    plan_restore,
    restored_progress,
    restored_record,
    tell_no_directory,
    tell_restore_point,
    what_is_against_going_back,
)
from penstock.runtime.running_job import RunningJob
from penstock.runtime.source_planner import SourcePlanner
from penstock.runtime.spark.epoch_job import EpochJobs
from penstock.runtime.spark.resources import check_resources, most_of, settings_for
from penstock.runtime.spark.session import get_spark
from penstock.runtime.spark.slots import Slots
from penstock.runtime.spark.workers import run_in_tasks
from penstock.runtime.tables.sink import TableSinkOperator
from penstock.runtime.tables.source import TableSourceOperator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)
_LARGE_STATE_BYTES = 32 << 20
REACTIVE_MODE = "scheduler-mode"

job_registry.watch_jobs(listing)
job_registry.watch_jobs(reporting)
job_registry.watch_jobs(lineage_telling)


def submit_job(
    sinks: Sequence[Transformation],
    configuration: Configuration,
    job_name: str,
    make_runner: Callable[[JobDefinition], EpochRunner] | None = None,
    description: JobDescription | None = None,
) -> RunningJob:
    """Builds the job, starts its epoch loop on a thread of its own and returns at once.

    Args:
        sinks: The ends of the program.
        configuration: Everything that was set.
        job_name: For people.
        make_runner: What runs the tasks; on Spark unless a test says otherwise.
        description: What the job is about, for whoever looks.

    Raises:
        ValidationError: The program cannot run; nothing was started.
    """
    check_configuration(configuration)
    reporting.check(configuration)
    lineage_telling.check(configuration.to_dict())
    LatencySettings.of(configuration.to_dict())
    collect_dependencies(configuration.to_dict())
    graph = _stream_graph(sinks, configuration)
    place = _Place.choose(configuration, job_name, graph)
    job = _define(graph, configuration, job_name, place)
    committers = {**_committers(graph), **dead_letter_committer(configuration)}
    run = one_by_one if make_runner else _in_tasks(configuration)
    point, progress, restored = _restored(graph, job, configuration, place, committers, run)
    if place.durable:
        keep_definition(place.storage, ship(job))
    sources = [
        SourcePlanner(node, job.configuration, restored.get(node.uid))
        for node in graph.nodes
        if node.is_source
    ]
    bounded = all(_is_bounded(node) for node in graph.nodes if node.is_source)
    fixed = configuration.contains(EpochOptions.MAX_RECORDS)
    target_ms = to_millis(configuration.get(EpochOptions.TARGET))
    coordinator = Coordinator(
        job,
        make_runner(job) if make_runner else _on_spark(job, configuration),
        sources,
        committers,
        job.storage,
        Pacing(
            target_ms,
            bounded,
            configuration.get(EpochOptions.MAX_RECORDS) if fixed else None,
            comfortable_bytes=_comfortable_bytes(configuration.get(WorkerOptions.MEMORY_LIMIT)),
        ),
        RestartStrategy.from_configuration(configuration, _goes_on_after_failures(job, configuration)),
        CoordinatorSettings(
            durable=place.durable,
            retained_checkpoints=configuration.get(CheckpointingOptions.NUM_RETAINED),
            run_all_in_one_epoch=job.batch_mode,
            checkpoint_interval_ms=_interval_ms(configuration, committers) if place.durable else None,
            limit_ms=None if job.batch_mode or fixed else LIMIT_FACTOR * target_ms,
            logs_epochs=configuration.get(EpochOptions.LOG),
        ),
        progress,
        _sink_coordinators(graph),
        _replanner(sinks, configuration, job_name, place, graph, make_runner),
        _reactive(configuration),
    )
    if point is not None:
        coordinator.statistics.checkpoints.add_restored(restored_record(point, job.storage))
    write_savepoint = _savepoint_writer(coordinator, configuration, run)
    return RunningJob(job_name, coordinator, write_savepoint, place.end, description).start()


def _goes_on_after_failures(job: JobDefinition, configuration: Configuration) -> bool:
    """Whether a job restarts if nobody chose a strategy: where the program asked for checkpoints.

    Without a directory a restart finds its progress in the driver and its state in a temporary folder. That outlives
    workers, not the driver, so it is said.
    """
    if configuration.get(CheckpointingOptions.DIRECTORY):
        return True
    interval = configuration.get(CheckpointingOptions.INTERVAL)
    if not interval or to_millis(interval) <= 0 or job.batch_mode:
        return False
    tell_no_directory()
    return True


def _interval_ms(configuration: Configuration, committers: dict[OperatorUid, Committer]) -> float | None:
    """How long a checkpoint's output gathers; None: every epoch is a checkpoint."""
    if not configuration.contains(CheckpointingOptions.INTERVAL):
        return None
    interval_ms = to_millis(configuration.get(CheckpointingOptions.INTERVAL))
    one_by_one = sorted(type(c).__name__ for c in committers.values() if not c.takes_several_epochs)
    if interval_ms > 0 and one_by_one:
        LOG.warning(
            "%s has no effect: every epoch is a checkpoint, because %s publishes epoch by epoch",
            CheckpointingOptions.INTERVAL.key,
            ", ".join(one_by_one),
        )
    return interval_ms if interval_ms > 0 and not one_by_one else None


def _replanner(
    sinks: Sequence[Transformation], configuration: Configuration, job_name: str, place: _Place, graph: StreamGraph,
    make_runner: Callable[[JobDefinition], EpochRunner] | None,
) -> Callable[[Wanted], Replanned]:  # fmt: skip
    """Plans the program again with another parallelism."""
    newest = [graph]

    def replan(wanted: Wanted) -> Replanned:
        if newest[0].settings.batch_mode:
            raise ValidationError("a job in BATCH mode is one epoch: there is no moment to rescale it")
        made = rescaled_graph(sinks, newest[0].settings, newest[0], wanted)
        job = _define(made, configuration, job_name, place)
        newest[0] = made
        if place.durable:
            keep_definition(place.storage, ship(job))
        runner = (lambda: make_runner(job)) if make_runner else (lambda: _on_spark(job, configuration))
        return Replanned(job, made, runner)

    return replan


def _reactive(configuration: Configuration) -> Reactive | None:
    """For `scheduler-mode: reactive`; in Flink it wants the adaptive scheduler, which it implies here."""
    mode = (configuration.get_string(REACTIVE_MODE, "") or "").lower()
    if mode in ("", "none"):
        return None
    if mode != "reactive":
        raise ValidationError(f"{REACTIVE_MODE} is '{mode}'", do="use reactive, or leave it out")
    spark = get_spark(_spark_options(configuration)).sparkContext
    return Reactive(Slots(spark).tasks_at_once)


def _comfortable_bytes(limit_bytes: int | None) -> int:
    """What an epoch may need in a worker: a share of its limit, for what it keeps needs room too."""
    return COMFORTABLE_BYTES if not limit_bytes else min(COMFORTABLE_BYTES, limit_bytes // 4)


def execution_plan_json(sinks: Sequence[Transformation], configuration: Configuration) -> str:
    """The program's operators as JSON, without running anything."""
    return plan_json(_stream_graph(sinks, configuration))


def _stream_graph(sinks: Sequence[Transformation], configuration: Configuration) -> StreamGraph:
    maximum = configuration.get(PipelineOptions.MAX_PARALLELISM)
    settings = GraphSettings(
        parallelism=configuration.get(ExecutionOptions.PARALLELISM),
        max_parallelism=maximum if maximum and maximum > 0 else None,
    )
    graph = build_stream_graph(sinks, settings)
    graph.settings = replace(settings, batch_mode=_is_batch(graph, configuration))
    return graph


def _is_batch(graph: StreamGraph, configuration: Configuration) -> bool:
    mode = str(configuration.get(ExecutionOptions.RUNTIME_MODE)).upper()
    endless = [n for n in graph.nodes if n.is_source and not _is_bounded(n)]
    if mode == "BATCH" and endless:
        raise ValidationError(
            f"BATCH mode needs bounded sources, and '{endless[0].name}' does not end",
            where=endless[0].transformation.call_site,
            do="use RuntimeExecutionMode.STREAMING, or a bounded source",
        )
    return mode == "BATCH" or (mode == "AUTOMATIC" and not endless)


def _is_bounded(node: StreamNode) -> bool:
    transformation = node.transformation
    assert isinstance(transformation, SourceTransformation)
    return transformation.source.boundedness is Boundedness.BOUNDED


@dataclass(frozen=True)
class _Place:
    """Where a job keeps its state: under the checkpoint directory if there is one, else in a temporary one."""

    identity: JobIdentity
    storage: CheckpointStorage
    local_dir: str
    durable: bool
    retain: bool

    @classmethod
    def choose(cls, configuration: Configuration, job_name: str, graph: StreamGraph) -> _Place:
        directory = configuration.get(CheckpointingOptions.DIRECTORY)
        fixed_id = configuration.get_string("$internal.pipeline.job-id", None)
        identity = choose_identity(directory, fixed_id, job_name, graph)
        scratch = tempfile.mkdtemp(prefix="penstock-")
        base = directory or os.path.join(scratch, "checkpoints")
        retention = str(configuration.get(CheckpointingOptions.EXTERNALIZED_RETENTION))
        storage = CheckpointStorage(base, identity.job_id, durable=directory is not None)
        return cls(identity, storage, scratch, directory is not None, "RETAIN_ON_CANCELLATION" in retention)

    def end(self, status: JobStatus) -> None:
        """The job has ended: what nobody needs any more goes."""
        shutil.rmtree(self.local_dir, ignore_errors=True)
        if self.durable:
            mark_ended(self.storage, self.identity, status, self.retain or status is JobStatus.FAILED)
        self.identity.release()


def _define(graph: StreamGraph, configuration: Configuration, job_name: str, place: _Place) -> JobDefinition:
    operators = {node.id: _pickle_operator(graph, node) for node in graph.nodes}
    settings = {key: str(value) for key, value in configuration.to_dict().items()}
    settings[ExecutionOptions.RUNTIME_MODE.key] = "BATCH" if graph.settings.batch_mode else "STREAMING"
    return JobDefinition(
        job_id=place.identity.job_id,
        job_name=job_name,
        graph=_for_tasks(graph),
        stages=plan_stages(graph),
        operators=operators,
        configuration=settings,
        batch_mode=graph.settings.batch_mode,
        backend=_backend(configuration),
        storage=place.storage,
        local_dir=place.local_dir,
        job_parameters=configuration.get(PipelineOptions.GLOBAL_JOB_PARAMETERS) or {},
        worker_memory_bytes=configuration.get(WorkerOptions.MEMORY_LIMIT),
        snapshots=SnapshotSettings(
            configuration.get(StateOptions.SNAPSHOT_MIN_GROWTH),
            configuration.get(StateOptions.SNAPSHOT_BACKGROUND_SIZE),
        ),
    )


def _backend(configuration: Configuration) -> str:
    """LMDB unless somebody says otherwise. Flink's own default is a heap; there tasks stay where their state is."""
    return configuration.get(StateOptions.BACKEND) if configuration.contains(StateOptions.BACKEND) else "lmdb"


def _for_tasks(graph: StreamGraph) -> StreamGraph:
    """The graph without what only the driver needs: sources, sinks and the links between transformations."""
    nodes = [replace(node, transformation=_stripped(node.transformation)) for node in graph.nodes]
    return StreamGraph(graph.settings, nodes, graph.edges)


def _stripped(transformation: Transformation) -> Transformation:
    if isinstance(transformation, SourceTransformation):
        return replace(transformation, inputs=(), source=None, watermark_strategy=None)  # type: ignore[arg-type]
    if isinstance(transformation, SinkTransformation):
        return replace(transformation, inputs=(), sink=None)  # type: ignore[arg-type]
    if isinstance(transformation, OperatorTransformation):
        return replace(transformation, inputs=(), operator_factory=None)  # type: ignore[arg-type]
    return replace(transformation, inputs=())


def _pickle_operator(graph: StreamGraph, node: StreamNode) -> bytes:
    try:
        return cloudpickle.dumps(_make_operator(graph, node), protocol=5)
    except PenstockError as error:
        error.where = error.where or node.transformation.call_site
        raise
    except Exception as error:
        raise ValidationError(
            f"the function of '{node.name}' cannot be sent to the workers: {error}",
            where=node.transformation.call_site,
            do="create what cannot be pickled (connections, locks, open files, the Spark session) in open(),\n"
            "and do not refer to it from a lambda or a constructor",
        ) from error


def _make_operator(graph: StreamGraph, node: StreamNode) -> Operator:
    t = node.transformation
    if isinstance(t, SourceTransformation):
        if isinstance(t.output_type, TableTypeInfo):
            reader = t.source.create_reader()
            return TableSourceOperator(
                reader, t.output_type.row_type, t.changelog, _is_bounded(node), t.tags_splits
            )
        return SourceOperator(t.source.create_reader(), t.watermark_strategy, _is_bounded(node))
    if isinstance(t, SinkTransformation):
        incoming = graph.inputs_of(node.id)
        arriving = incoming[0].element_type if incoming else None
        if isinstance(arriving, TableTypeInfo):
            return TableSinkOperator(t.sink, arriving.row_type, t.changelog)
        return SinkOperator(t.sink, arriving)
    assert isinstance(t, OperatorTransformation)
    return t.operator_factory()


def _committers(graph: StreamGraph) -> dict[OperatorUid, Committer]:
    committers = {}
    for node in graph.nodes:
        if isinstance(node.transformation, SinkTransformation):
            committer = node.transformation.sink.create_committer()
            if committer is not None:
                committers[node.uid] = committer
    return committers


def _sink_coordinators(graph: StreamGraph) -> dict[OperatorUid, SinkCoordinator]:
    sinks = {
        n.uid: n.transformation.sink for n in graph.nodes if isinstance(n.transformation, SinkTransformation)
    }
    made = {uid: sink.create_coordinator() for uid, sink in sinks.items()}
    return {uid: coordinator for uid, coordinator in made.items() if coordinator is not None}


def _restored(
    graph: StreamGraph,
    job: JobDefinition,
    configuration: Configuration,
    place: _Place,
    committers: dict[OperatorUid, Committer],
    run: RunAll,
) -> tuple[RestorePoint | None, JobProgress | None, dict[OperatorUid, Any]]:
    """What to start from: the checkpoint, progress and enumerator states; its output is published once more."""
    storage, resumes = job.storage, place.durable and place.identity.resumes

    def against_going_back(older: CheckpointMetadata) -> str | None:
        named = {node.uid: f"'{node.name}' (uid {node.uid})" for node in graph.nodes}
        states = {uid: source.enumerator for uid, source in older.sources.items()}
        planners = [
            SourcePlanner(n, job.configuration, states.get(n.uid)) for n in graph.nodes if n.is_source
        ]
        try:
            return what_is_against_going_back(
                {named.get(uid, uid): committer for uid, committer in committers.items()},
                {named[planner.node.uid]: planner.enumerator for planner in planners},
            )
        finally:
            for planner in planners:
                planner.enumerator.close()

    point = find_restore_point(storage, configuration, resumes, run, against_going_back)
    if point is None:
        return None, None, {}
    reach(Point.RESTORE_FOUND)
    metadata = point.metadata
    allow = bool(configuration.get(StateOptions.IGNORE_UNCLAIMED))
    plan = plan_restore(graph, metadata, allow_non_restored=allow)  # a refused restore leaves no trace
    storage.sweep()
    reach(Point.RESTORE_SWEPT)
    if point.claimed and point.path is not None:
        claim(storage, point.path, metadata)
    publish_commits(metadata, committers, attempts=5)
    reach(Point.RESTORE_PUBLISHED)
    tell_restore_point(job.job_name, point, storage)
    enumerators = enumerator_states(plan.sources, metadata.epoch)
    return point, restored_progress(graph, metadata, plan, point.claimed), enumerators


def _on_spark(job: JobDefinition, configuration: Configuration) -> EpochRunner:
    wanted = most_of(node.transformation.slot_resources for node in job.graph.nodes)
    options = _spark_options(configuration)
    if wanted is not None and not options.get("spark.master", "local").startswith("local"):
        options = settings_for(wanted, options)
    with starting("starting Spark", job.configuration):
        context = get_spark(options).sparkContext
    if wanted is not None:
        check_resources(wanted, dict(context.getConf().getAll()), context.master.startswith("local"))
    if not context.master.startswith("local") and not configuration.get(CheckpointingOptions.DIRECTORY):
        raise ValidationError(
            f"a job on the cluster {context.master} needs a checkpoint directory that all its hosts can reach",
            do="set execution.checkpointing.dir to a shared path (hdfs://, s3://, a mounted folder): state moves\n"
            "between executors through it",
        )
    bring_along(context, configuration.to_dict())
    return EpochJobs(context, job, lambda: _sql_session(configuration))


def _sql_session(configuration: Configuration) -> SparkSession:
    """A session for a job's linear SQL: adaptive execution would only plan again what is planned once."""
    session = get_spark(_spark_options(configuration)).newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    return session


def _spark_options(configuration: Configuration) -> dict[str, str]:
    return {k: str(v) for k, v in configuration.to_dict().items() if k.startswith("spark.")}


def _in_tasks(configuration: Configuration) -> RunAll:
    """Parts of a large state are written and read by Spark tasks; a small one is quicker done here."""

    def run(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        if len(items) < 2 or sum(item.size_bytes for item in items) < _LARGE_STATE_BYTES:
            return one_by_one(function, items)
        return run_in_tasks(get_spark(_spark_options(configuration)).sparkContext, function, items)

    return run


def _savepoint_writer(
    coordinator: Coordinator, configuration: Configuration, run: RunAll
) -> Callable[[str], str]:
    def write(directory: str) -> str:
        target = directory or configuration.get(CheckpointingOptions.SAVEPOINT_DIRECTORY)
        if not target:
            raise ValidationError(
                "no directory for the savepoint",
                do="pass one, or set execution.checkpointing.savepoint-dir",
            )
        described = coordinator.describe(coordinator.progress)
        return write_savepoint(target, described, coordinator.job.storage, run)

    return write
