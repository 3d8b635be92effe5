"""A streaming query becomes a job: planned, lowered to transformations, submitted to the epoch loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.connectors.registry import find_connector
from penstock.connectors.table import SinkRequest, TableConnector
from penstock.graph.transformations import SinkTransformation, Transformation
from penstock.runtime.coordinator import EpochRunner
from penstock.runtime.dependencies import collect_dependencies
from penstock.runtime.job_description import JobDescription
from penstock.runtime.plan import JobDefinition
from penstock.runtime.running_job import RunningJob
from penstock.runtime.submit import submit_job
from penstock.sql.async_calls import Waiting
from penstock.sql.plan.algebra import InsertInto, Plan
from penstock.sql.streaming.catalyst import SessionSettings
from penstock.sql.streaming.collecting import Collected, CollectTableSink
from penstock.sql.streaming.describing import describe
from penstock.sql.streaming.explaining import explain_query
from penstock.sql.streaming.keyed_sinks import materialized
from penstock.sql.streaming.linear import Linear
from penstock.sql.streaming.lowering import Lowering
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.planner import Planner

LOG = logging.getLogger(__name__)
SINK_UID = "sink"
_NAME = "pipeline.name"

MakeRunner = Callable[[JobDefinition], EpochRunner]
make_runner: MakeRunner | None = None
"""What runs the tasks of streaming queries; None means Spark. Tests put a runner in the driver's process here."""


def lowering(planner: Planner) -> Lowering:
    """Makes the transformations of what a planner has planned."""
    collect_dependencies(planner.config)  # functions are pickled with what surrounds them
    return Lowering(Linear(planner.zone, Waiting.of(planner.config), SessionSettings(planner.config)))


def collect(config: Mapping[str, str], plan: Plan, one_epoch: bool = False) -> tuple[Collected, RunningJob]:
    """Starts a job whose changes the program reads."""
    planner = Planner(config, one_epoch=one_epoch)
    stream = planner.query(plan)
    _warn(planner)
    collected = Collected([f.type for f in plan.fields])
    end = lowering(planner).sink(stream, CollectTableSink(collected), "Collect", SINK_UID)
    about = describe([plan], lambda: explain_query(planner, stream), stream.retracts, not one_epoch)
    return collected, submit(config, [end], "collect", one_epoch, about)


def _warn(planner: Planner) -> None:
    """Tells whoever starts the query what EXPLAIN would have told."""
    for text in planner.warnings:
        LOG.warning(text.removeprefix("[WARNING] "))


def submit(
    config: Mapping[str, str],
    ends: Sequence[Transformation],
    name: str,
    one_epoch: bool = False,
    description: JobDescription | None = None,
) -> RunningJob:
    """Starts a job on the epoch loop; returns at once. `pipeline.name` goes before `name`."""
    named = config.get(_NAME) or name
    return submit_job(ends, configuration_of(config, one_epoch), named, make_runner, description)


def configuration_of(config: Mapping[str, str], one_epoch: bool = False) -> Configuration:
    settings = {key: config[key] for key in config}
    settings["execution.runtime-mode"] = "BATCH" if one_epoch else "STREAMING"
    return Configuration.from_dict(settings)


# --- INSERT -------------------------------------------------------------------------------------------------


def plan_inserts(
    planner: Planner, sinks: Sequence[InsertInto]
) -> list[tuple[Stream, TableConnector, InsertInto]]:
    """The queries of INSERTs, planned together; refuses updates that a sink cannot take."""
    connectors = [find_connector(s.table.options, s.identifier.as_summary_string()) for s in sinks]
    for connector, sink in zip(connectors, sinks, strict=True):
        connector.validate(sink.table, "sink")
    streams = planner.queries([sink.input for sink in sinks])
    ends = []
    for stream, connector, sink in zip(streams, connectors, sinks, strict=True):
        if stream.retracts and not planner.one_epoch and not _takes_changes(connector, sink):
            raise ValidationError(
                f"table sink '{sink.identifier.as_summary_string()}' doesn't support consuming update and delete "
                f"changes which is produced by node {stream.updated_by}",
                do=connector.update_advice,
            )
        ends.append((materialized(planner, stream, connector, sink), connector, sink))
    return ends


def lowered_inserts(
    planner: Planner, sinks: Sequence[InsertInto], uids: Sequence[str] = ()
) -> list[SinkTransformation]:
    """The ends of a job with these INSERTs; `uids` are those of the sinks, if somebody chose them."""
    planned = plan_inserts(planner, sinks)
    _warn(planner)
    make = lowering(planner)
    uids = uids or sink_uids(planner, sinks)
    return [_end(make, planner, *end, uid) for end, uid in zip(planned, uids, strict=True)]


def sink_uids(planner: Planner, sinks: Sequence[InsertInto]) -> list[str]:
    """The uids of the sinks of a job: their tables, so that other INSERTs may come and go beside them."""
    uids: list[str] = []
    for sink in sinks:
        uid = f"{planner.prefix}{SINK_UID}-{sink.identifier.object_name}"
        same = sum(1 for other in uids if other == uid or other.startswith(f"{uid}~"))
        uids.append(f"{uid}~{same + 1}" if same else uid)
    return uids


def _end(
    make: Lowering, planner: Planner, stream: Stream, connector: TableConnector, sink: InsertInto, uid: str
) -> SinkTransformation:
    changelog = _takes_changes(connector, sink)
    request = SinkRequest(
        changelog=changelog,
        retracts=stream.retracts,
        parallelism=planner.parallelism,
        input_parallelism=make.parallelism(stream),
        static_partition=dict(sink.static_partition),
    )
    needs = connector.sink_requirements(sink.table, request)
    return make.sink(
        stream,
        connector.sink(sink.table, request),
        f"Sink({sink.identifier.as_summary_string()})",
        uid,
        needs.parallelism,
        needs.partition_by,
        changelog,
    )


def _takes_changes(connector: TableConnector, sink: InsertInto) -> bool:
    return connector.sink_changelog_mode(sink.table) == "changelog"


def insert_job_name(sinks: Sequence[InsertInto]) -> str:
    """What a job with these INSERTs is called, if nobody has given it a name."""
    return "insert-into_" + ",".join(s.identifier.as_summary_string() for s in sinks)
