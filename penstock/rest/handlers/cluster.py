"""The server itself: overview, configuration for the dashboard, all jobs, shutting down."""

from __future__ import annotations

import threading
import time
from collections import Counter

from penstock.common.options import option
from penstock.common.time import to_millis
from penstock.rest.context import ServerContext
from penstock.rest.handlers.executors import known_executors
from penstock.rest.handlers.slots import HOLDING, free_slots
from penstock.rest.messages import Answer, Request, RestError
from penstock.version import FLINK_VERSION, __version__


def overview(context: ServerContext, request: Request) -> Answer:
    jobs = context.directory.overviews()
    states = Counter(each["state"] for each in jobs)
    executors = known_executors()
    return Answer(
        {
            "taskmanagers": len(executors),
            "slots-total": sum(executor.cores for executor in executors),
            "slots-available": sum(free_slots(executors, jobs).values()),
            "jobs-running": sum(states[state] for state in HOLDING),
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
    found = context.directory.overviews()
    return Answer({"jobs": [{"id": each["jid"], "status": each["state"]} for each in found]})


def jobs_overview(context: ServerContext, request: Request) -> Answer:
    return Answer({"jobs": context.directory.overviews()})


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
                for each in context.directory.overviews()
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
