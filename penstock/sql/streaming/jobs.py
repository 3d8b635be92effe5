"""A physical plan becomes a job of the epoch loop: transformations for the coordinator, a runner for the tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.common.errors import InvariantError
from penstock.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from penstock.graph.transformations import (
    OperatorTransformation,
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from penstock.runtime.plan import JobDefinition
from penstock.runtime.running_job import RunningJob
from penstock.runtime.submit import submit_job
from penstock.sql.streaming.epoch_runner import SqlEpochRunner
from penstock.sql.streaming.epoch_time import EpochTimeText
from penstock.sql.streaming.physical import (
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    ValuesNode,
    WatermarkText,
)
from penstock.sql.streaming.planner import Planner
from penstock.sql.streaming.query import EpochSink, Output, Query
from penstock.sql.streaming.scan_source import TableSource

if TYPE_CHECKING:
    from penstock.sql.spark.batch import BatchExecutor

SINK_UID = "sink"


class EngineSink(Sink):
    """Stands for the end of the query in the graph: the runner writes, the committer publishes."""

    def __init__(self, committer: Committer | None) -> None:
        self._committer = committer

    def __reduce__(self) -> tuple[Any, ...]:
        return EngineSink, (None,)

    def create_writer(self, context: WriterContext, restored: Any = ()) -> SinkWriter:
        raise InvariantError("a query is written by the SQL engine")

    def create_committer(self) -> Committer | None:
        return self._committer


def start_job(
    planner: Planner,
    ends: Sequence[tuple[Stream, EpochSink, Committer | None]],
    batch: BatchExecutor,
    config: Mapping[str, str],
    name: str,
) -> RunningJob:
    """Submits the queries that end in these sinks as one job; returns at once."""
    uids = [SINK_UID] if len(ends) == 1 else [f"{SINK_UID}-{i}" for i in range(len(ends))]
    outputs = [Output(stream, sink, uid) for (stream, sink, _), uid in zip(ends, uids, strict=True)]
    roots = _transformations(planner, outputs, [committer for _, _, committer in ends])
    query = Query(planner.nodes, outputs)
    return submit_job(roots, _configuration(config), name, _make_runner(query, batch))


def _make_runner(query: Query, batch: BatchExecutor) -> Callable[[JobDefinition], SqlEpochRunner]:
    def make(job: JobDefinition) -> SqlEpochRunner:
        from penstock.sql.spark.user_function_calls import spark_call

        spark = batch.spark.newSession()
        for key in _INHERITED:
            value = batch.spark.conf.get(key, None)
            if value is not None:
                spark.conf.set(key, value)
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        spark.conf.set("spark.sql.optimizer.excludedRules", ",".join(_EXCLUDED_RULES))

        def udf_text(call: Any, args: list[str]) -> str:
            if isinstance(call.function, (WatermarkText, EpochTimeText)):
                return call.function.text(*args)
            return spark_call(spark, call, args)

        return SqlEpochRunner(job, query, spark, udf_text)

    return make


_EXCLUDED_RULES = tuple(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("PruneFilters", "PropagateEmptyRelation")
)
"""A condition that is never true must not keep Spark from running what is below it: sources have to move on."""


def _inherited() -> tuple[str, ...]:
    from penstock.sql.functions.text import SPARK_CONF

    return (*SPARK_CONF, "spark.sql.caseSensitive", "spark.sql.session.timeZone")


_INHERITED = _inherited()


def _configuration(config: Mapping[str, str]) -> Configuration:
    settings = {key: config[key] for key in config}
    settings["execution.runtime-mode"] = "STREAMING"
    return Configuration.from_dict(settings)


def _transformations(
    planner: Planner, outputs: Sequence[Output], committers: Sequence[Committer | None]
) -> list[Transformation]:
    made: dict[int, Transformation] = {}
    for node in planner.nodes:
        made[id(node)] = _transformation(node, made)
    roots: list[Transformation] = []
    for output, committer in zip(outputs, committers, strict=True):
        inputs = _spread([made[id(node)] for node in _used(output.stream)])
        sink = EngineSink(committer)
        roots.append(SinkTransformation("Sink", inputs, parallelism=1, uid=output.uid, sink=sink))
    return roots


def _transformation(node: PhysicalNode, made: dict[int, Transformation]) -> Transformation:
    if isinstance(node, (ScanNode, ValuesNode)):
        parallelism = node.parallelism if isinstance(node, ScanNode) else 1
        return SourceTransformation(
            node.name, parallelism=parallelism, uid=node.uid, source=TableSource(node)
        )
    inputs = [made[id(source)] for stream in node.inputs for source in _used(stream)]
    keyed = isinstance(node, DeltaNode)
    apart = keyed or isinstance(node, LookupNode)
    return OperatorTransformation(
        node.name,
        _spread(inputs) if apart else inputs,
        parallelism=node.parallelism,
        uid=node.uid,
        operator_factory=_Placeholder,  # type: ignore[arg-type]
        key_selectors=tuple(_key for _ in inputs) if keyed else (None,) * len(inputs),
    )


class _Placeholder:
    """The runner has the operators; the graph only needs something that can be pickled."""


def _key(value: Any) -> Any:
    return value


def _spread(inputs: list[Transformation]) -> list[Transformation]:
    """Edges into a stateful operator or the sink are exchanges."""
    partitioner = Partitioner(PartitionerKind.HASH, key_selector=_key)
    return [PartitionTransformation("exchange", [i], partitioner=partitioner) for i in inputs]


def _used(stream: Stream) -> list[PhysicalNode]:
    return list(dict.fromkeys(stream.nodes))
