"""Checkpoints that were taken."""

from __future__ import annotations

from penstock.rest.messages import Answer, Request, not_found
from penstock.rest.views import checkpoints as views
from penstock.rest.views import vertices as v
from penstock.runtime.history import CheckpointRecord
from penstock.runtime.running_job import RunningJob


def statistics(job: RunningJob, request: Request) -> Answer:
    return Answer(views.statistics(job.statistics))


def configuration(job: RunningJob, request: Request) -> Answer:
    return Answer(views.configuration(job.statistics))


def details(job: RunningJob, request: Request) -> Answer:
    return Answer(views.checkpoint_details(job.statistics, _record(job, request)))


def subtasks(job: RunningJob, request: Request) -> Answer:
    record = _record(job, request)
    stage = v.find_stage(job.statistics, request.parameters["vertexid"])
    if stage is None:
        raise not_found(f"There is no checkpoint statistics for task {request.parameters['vertexid']}.")
    return Answer(views.subtask_details(job.statistics, record, stage))


def _record(job: RunningJob, request: Request) -> CheckpointRecord:
    wanted = int(request.parameters["checkpointid"])
    record = job.statistics.checkpoints.find(wanted)
    if record is None:
        raise not_found(f"Could not find checkpointing statistics for checkpoint {wanted}.")
    return record
