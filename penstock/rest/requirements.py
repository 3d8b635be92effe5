"""The parallelism of a running job's vertices, asked for and changed as Flink's adaptive scheduler has it.

A vertex gets its upper bound: Spark takes turns where there are fewer cores than subtasks. The lower bound is kept
and told, and asks for nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.common.table_type import TableTypeInfo
from penstock.graph.ids import vertex_id
from penstock.graph.stages import Stage
from penstock.graph.stream_graph import StreamNode
from penstock.rest.messages import RestError
from penstock.runtime.plan import JobDefinition
from penstock.runtime.running_job import RunningJob
from penstock.runtime.statistics import JobStatistics

__all__ = ["Bounds", "requirements_of", "update_requirements"]

Bounds = Mapping[str, tuple[int, int]]
"""Lower and upper bound by vertex id."""


def requirements_of(stats: JobStatistics) -> dict[str, Any]:
    """Flink's answer: what each vertex may have."""
    job = stats.job
    return {
        vertex_id(job.graph, stage): {
            "parallelism": {
                "lowerBound": min(stats.least.get(job.graph.nodes[stage.nodes[0]].uid, 1), stage.parallelism),
                "upperBound": stage.parallelism,
            }
        }
        for stage in job.stages.stages
    }


def update_requirements(job: RunningJob, bounds: Bounds) -> None:
    """Returns when the job goes on with the upper bounds.

    Raises:
        RestError: A bound cannot be, with Flink's words.
        ValidationError: The program cannot have that parallelism; it goes on as it was.
        JobEndedError: The job has ended.
    """
    stats = job.statistics
    definition = stats.job
    if definition.configuration.get("scheduler-mode", "").lower() == "reactive":
        raise RestError(409, "Cannot change the parallelism of a job running in reactive mode.")
    stages = {vertex_id(definition.graph, stage): stage for stage in definition.stages.stages}
    wrong = list(_complaints(definition, stages, bounds))
    if wrong:
        raise RestError(400, "\n".join(wrong))
    nodes = definition.graph.nodes
    uids = {vertex: [nodes[node].uid for node in stage.nodes] for vertex, stage in stages.items()}
    job.rescale({uid: upper for vertex, (_, upper) in bounds.items() for uid in uids[vertex]})
    stats.least.update({uid: lower for vertex, (lower, _) in bounds.items() for uid in uids[vertex]})


def _complaints(job: JobDefinition, stages: Mapping[str, Stage], bounds: Bounds) -> Iterator[str]:
    for vertex, (lower, upper) in bounds.items():
        if vertex not in stages:
            yield f"Job vertex [{vertex}] was not found in the JobGraph."
            continue
        if lower < 1 or upper < 1:
            yield (
                f"Both, the requested lower bound [{lower}] and upper bound [{upper}] for job vertex [{vertex}] "
                "must be greater than zero."
            )
        if lower > upper:
            yield (
                f"The requested lower bound [{lower}] for job vertex [{vertex}] is higher than the upper bound "
                f"[{upper}]."
            )
        most = min(_most(job.graph.nodes[node]) for node in stages[vertex].nodes)
        if upper > most:
            yield (
                f"The newly requested parallelism {upper} for the job vertex {vertex} exceeds its maximum "
                f"parallelism {most}."
            )
    for vertex in stages.keys() - bounds.keys():
        yield f"The request is incomplete, missing job vertex [{vertex}] resource requirements."


def _most(node: StreamNode) -> int:
    """An operator over tables that the planner has made alone has no key to be spread by: it stays alone."""
    step = node.transformation
    over_tables = isinstance((step.inputs[0] if step.inputs else step).output_type, TableTypeInfo)
    return 1 if over_tables and step.parallelism == 1 else node.max_parallelism
