"""Another parallelism for a running job: asked for, told of. The history is as long as Flink's option says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.rest.context import ServerContext
from penstock.rest.messages import Answer, Request, RestError, not_found
from penstock.rest.ports import JobPort
from penstock.rest.requirements import requirements_of
from penstock.rest.views import rescales as views
from penstock.runtime.running_job import RunningJob
from penstock.runtime.statistics import JobStatistics

_WHAT = "JobResourceRequirementsBody"
_HISTORY = "web.adaptive-scheduler.rescale-history.size"
_MOST = 2**15


def requirements(job: RunningJob, request: Request) -> Answer:
    return Answer(requirements_of(job.statistics))


def update_requirements(context: ServerContext, job: JobPort, request: Request) -> Answer:
    """PUT: answers when the job goes on with other numbers, or says what is wrong with them."""
    if not context.flag("web.rescale.enable"):
        raise RestError(403, "Rescaling jobs is switched off here (web.rescale.enable).")
    body = request.json(_WHAT)
    if not body:
        raise RestError(400, "Request body does not specify resource requirements.")
    bounds = {str(vertex): _bounds(value) for vertex, value in body.items()}
    with context.one_update_of(job.job_id):
        job.update_requirements(bounds)
    return Answer({})


def _bounds(value: Any) -> tuple[int, int]:
    parallelism = value.get("parallelism") if isinstance(value, dict) else None
    if not isinstance(parallelism, dict):
        raise RestError(400, f"Request did not match expected format {_WHAT}.")
    return _bound(parallelism.get("lowerBound")), _bound(parallelism.get("upperBound"))


def _bound(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise RestError(400, f"Request did not match expected format {_WHAT}.")
    return max(-_MOST, min(_MOST, value))


def _kept(make: Callable[[JobStatistics], Any]) -> Callable[[RunningJob, Request], Answer]:
    def handler(job: RunningJob, request: Request) -> Answer:
        _check_is_kept(job)
        return Answer(make(job.statistics))

    return handler


def _check_is_kept(job: RunningJob) -> None:
    if job.statistics.rescales.size <= 0:
        raise not_found(
            f"The job `{job.job_id}` has not enabled the `Adaptive` scheduler, or it has been enabled but the value "
            f"of configuration option `{_HISTORY}` has not been set to greater than `0`."
        )


overview = _kept(views.overview)
history = _kept(views.history)
summary = _kept(views.summary)
config = _kept(views.config)


def details(job: RunningJob, request: Request) -> Answer:
    _check_is_kept(job)
    wanted = request.parameters["rescaleuuid"]
    for record in job.statistics.rescales.listed():
        if record.uuid == wanted:
            return Answer(views.details(job.statistics, record))
    raise not_found(f"Could not find the rescale {wanted} of job {job.job_id}.")
