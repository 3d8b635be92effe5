"""The server itself: overview, configuration for the dashboard, all jobs, shutting down."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import Any

from penstock.common.options import option
from penstock.common.time import to_millis
from penstock.rest.context import ServerContext
from penstock.rest.handlers.executors import known_executors
from penstock.rest.messages import Answer, Request, RestError
from penstock.version import FLINK_VERSION, __version__

LOG = logging.getLogger(__name__)
_RUNNING = ("RUNNING", "RESTARTING", "CREATED", "INITIALIZING", "FAILING", "CANCELLING")


def overview(context: ServerContext, request: Request) -> Answer:
    states = Counter(each["state"] for each in _overviews(context))
    executors = known_executors()
    slots = sum(executor.cores for executor in executors)
    busy = sum(executor.active_tasks for executor in executors)
    return Answer(
        {
            "taskmanagers": len(executors),
            "slots-total": slots,
            "slots-available": max(0, slots - busy),
            "jobs-running": sum(states[state] for state in _RUNNING),
            "jobs-finished": states["FINISHED"],
            "jobs-cancelled": states["CANCELED"],
            "jobs-failed": states["FAILED"],
            "flink-version": FLINK_VERSION,
            "flink-commit": f"penstock-{__version__}",
        }
    )


def configuration(context: ServerContext, request: Request) -> Answer:
    zone = time.localtime()
    return Answer(
        {
            "refresh-interval": int(to_millis(context.configuration.get(option("web.refresh-interval")))),
            "timezone-name": zone.tm_zone or "UTC",
            "timezone-offset": (zone.tm_gmtoff or 0) * 1000,
            "flink-version": FLINK_VERSION,
            "flink-revision": f"penstock {__version__}",
            "features": {
                "web-submit": context.uploads is not None,
                "web-cancel": context.flag("web.cancel.enable") and not context.history,
                "web-rescale": context.flag("web.rescale.enable") and not context.history,
                "web-history": context.history,
            },
        }
    )


def job_ids(context: ServerContext, request: Request) -> Answer:
    found = _overviews(context)
    return Answer({"jobs": [{"id": each["jid"], "status": each["state"]} for each in found]})


def jobs_overview(context: ServerContext, request: Request) -> Answer:
    return Answer({"jobs": _overviews(context)})


def _overviews(context: ServerContext) -> list[dict[str, Any]]:
    """All jobs are asked before one answer is waited for; a job whose process went away just now is left out."""
    asked = [(port.job_id, port.overview_later()) for port in context.directory.all()]
    found = []
    for job_id, answer in asked:
        try:
            found.append(answer())
        except Exception:
            LOG.debug("job %s does not answer", job_id, exc_info=True)
    return found


def applications(context: ServerContext, request: Request) -> Answer:
    """Every job is an application of one job, as Flink shows jobs that were submitted alone."""
    return Answer(
        {
            "applications": [
                {
                    "id": each["jid"],
                    "name": each["name"],
                    "start-time": each["start-time"],
                    "end-time": each["end-time"],
                    "duration": each["duration"],
                    "status": each["state"],
                    "jobs": {each["state"]: 1},
                }
                for each in _overviews(context)
            ]
        }
    )


def application(context: ServerContext, request: Request) -> Answer:
    each = context.directory.find(request.parameters["applicationid"]).overview()
    return Answer(
        {
            "id": each["jid"],
            "name": each["name"],
            "status": each["state"],
            "start-time": each["start-time"],
            "end-time": each["end-time"],
            "duration": each["duration"],
            "timestamps": {each["state"]: each["last-modification"]},
            "jobs": [each],
        }
    )


def shut_down(context: ServerContext, request: Request) -> Answer:
    if context.shut_down is None:
        raise RestError(
            404, "not supported: shutting down, because this server belongs to a program that ends itself"
        )
    threading.Thread(target=context.shut_down, name="penstock-shutdown", daemon=True).start()
    return Answer({})


def datasets(context: ServerContext, request: Request) -> Answer:
    return Answer({"dataSets": []})
