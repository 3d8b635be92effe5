"""One job: reads, answered by the process that runs it, from its statistics."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.rest.messages import Answer, Request, RestError
from penstock.rest.triggers import failure_cause
from penstock.rest.views import jobs as views
from penstock.runtime.running_job import RunningJob
from penstock.runtime.statistics import JobStatistics

_MOST_LABELS = 16


def _view(make: Callable[[JobStatistics], Any]) -> Callable[[RunningJob, Request], Answer]:
    def handler(job: RunningJob, request: Request) -> Answer:
        return Answer(make(job.statistics))

    return handler


details = _view(views.details)
plan = _view(lambda stats: {"plan": views.plan(stats)})
config = _view(views.config)
accumulators = _view(views.accumulators)
status = _view(lambda stats: {"status": stats.lifecycle.current})
epochs = _view(views.epochs)
job_configuration = _view(views.job_configuration)


def exceptions(job: RunningJob, request: Request) -> Answer:
    labels = {}
    for pair in (request.several("failureLabelFilter") or ())[:_MOST_LABELS]:
        key, separator, value = pair.partition(":")
        if not separator:
            raise RestError(
                400,
                "Bad request, could not parse parameters: Cannot resolve query parameter (failureLabelFilter) "
                f'from value "{pair}".',
            )
        labels[key] = value
    limit = request.integer("maxExceptions", 20)
    if limit is not None and limit < 0:
        raise RestError(400, f"Bad request: maxExceptions cannot be {limit}.")
    return Answer(views.exceptions(job.statistics, limit, labels))


def execution_result(job: RunningJob, request: Request) -> Answer:
    failure = failure_cause(job.error) if job.error is not None else None
    return Answer(views.execution_result(job.statistics, failure))


def sql(job: RunningJob, request: Request) -> Answer:
    """Ours: the statement of a job of SQL, what becomes of it, and which changes its result is told with."""
    about = job.description
    if about.plan is None:
        raise RestError(404, f"Job {job.job_id} is not one of SQL.")
    plan = about.plan()
    found = re.search(r"changelogMode=\[([^\]]*)\]", plan)
    mode = about.changelog_mode or (found[1] if found else "")
    return Answer({"statement": about.statement, "plan": plan, "changelog-mode": mode})
