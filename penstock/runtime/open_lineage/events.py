"""Events of OpenLineage's model: a run of a job, its datasets, and facets that say more. Plain data.

What goes in and out is what the SQL planner knows of tables, with the lineage of their columns, or else the sources
and sinks of the graph by name.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from typing import Any

from penstock.runtime.job_description import Datasets, JobDescription
from penstock.runtime.plan import JobDefinition
from penstock.version import __version__

__all__ = ["PRODUCER", "run_event", "run_id"]

PRODUCER = f"penstock/{__version__}"
_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"


def run_id(job_id: str, started_ms: int) -> str:
    """One run of a job: a job that is started again under its id is another run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{job_id}:{started_ms}"))


def run_event(
    kind: str,
    run: str,
    job: JobDefinition,
    description: JobDescription,
    namespace: str,
    *,
    now_ms: int,
    error: BaseException | None = None,
    numbers: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """An event; `kind` is START, RUNNING, COMPLETE, ABORT or FAIL."""
    inputs, outputs = _datasets(job, description, namespace)
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.timezone.utc)
    return {
        "eventType": kind,
        "eventTime": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run, "facets": _run_facets(job, error, numbers)},
        "job": {"namespace": namespace, "name": job.job_name, "facets": _job_facets(job, description)},
        "inputs": inputs,
        "outputs": outputs,
        "producer": PRODUCER,
        "schemaURL": _EVENT,
    }


def _facet(schema: str, **values: Any) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/facets/{schema}", **values}


def _run_facets(
    job: JobDefinition, error: BaseException | None, numbers: Mapping[str, int] | None
) -> dict[str, Any]:
    facets = {
        "processing_engine": _facet(
            "1-1-1/ProcessingEngineRunFacet.json", name="penstock", version=__version__
        ),
        "penstock_job": {"_producer": PRODUCER, "_schemaURL": _EVENT, "jobId": job.job_id, **(numbers or {})},
    }
    if error is not None:
        told = {"message": str(error)[:4000], "programmingLanguage": "PYTHON"}
        facets["errorMessage"] = _facet("1-0-1/ErrorMessageRunFacet.json", **told)
    return facets


def _job_facets(job: JobDefinition, description: JobDescription) -> dict[str, Any]:
    processing = "BATCH" if job.batch_mode else "STREAMING"
    facets = {
        "jobType": _facet(
            "2-0-3/JobTypeJobFacet.json", processingType=processing, integration="PENSTOCK", jobType="JOB"
        )
    }
    if description.statement:
        facets["sql"] = _facet("1-1-0/SQLJobFacet.json", query=description.statement)
    return facets


def _datasets(job: JobDefinition, description: JobDescription, namespace: str) -> Datasets:
    if description.datasets is not None:
        return description.datasets(namespace)
    nodes = job.graph.nodes
    return _named([n.name for n in nodes if n.is_source], namespace), _named(
        [n.name for n in nodes if n.is_sink], namespace
    )


def _named(names: list[str], namespace: str) -> list[dict[str, Any]]:
    return [{"namespace": namespace, "name": name, "facets": {}} for name in dict.fromkeys(names)]
