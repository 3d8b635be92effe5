"""A request becomes an answer: find the route, find the job, call the handler, turn errors into Flink's.

Nothing here knows HTTP, so programs' processes and tests use it as it is.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from penstock.common.errors import ErrorDomain, JobEndedError, PenstockError
from penstock.rest.context import ServerContext
from penstock.rest.messages import Answer, Request, RestError
from penstock.rest.ports import EndedJob, LocalJob
from penstock.rest.routes import Route, Scope, match
from penstock.runtime.running_job import RunningJob

__all__ = ["Dispatcher", "is_quick", "read_job"]

LOG = logging.getLogger(__name__)


def read_job(job: RunningJob, request: Request) -> Answer:
    """Answers a read about a job of this process."""
    found = match(request.method, request.path)
    if found is None or found[0].scope is not Scope.READ or found[0].handler is None:
        raise RestError(404, f"Not found: {request.path}")
    answer: Answer = found[0].handler(job, replace(request, parameters=found[1]))
    return answer


class Dispatcher:
    """Answers everything that a server is asked."""

    def __init__(self, context: ServerContext) -> None:
        self.context = context

    def answer(self, request: Request) -> Answer:
        """Never raises."""
        try:
            return self._answer(request)
        except RestError as error:
            return Answer.error(error.status, *error.messages)
        except JobEndedError as error:
            return Answer.error(409, str(error))
        except PenstockError as error:
            status = 400 if error.domain is ErrorDomain.USER else 500
            return Answer.error(status, str(error))
        except Exception as error:
            LOG.warning("%s %s failed", request.method, request.path, exc_info=True)
            return Answer.error(500, "Internal server error.", f"{type(error).__name__}: {error}")

    def _answer(self, request: Request) -> Answer:
        found = match(request.method, request.path)
        if found is None:
            raise RestError(404, f"Not found: {request.path}")
        route, parameters = found
        request = replace(request, parameters=parameters)
        if route.handler is None:
            raise RestError(404, f"not supported: {route.method} {route.path}, because {route.reason}")
        if route.scope is Scope.SERVER:
            answer: Answer = route.handler(self.context, request)
            return answer
        port = self.context.directory.find(parameters["jobid"])
        if route.scope is Scope.READ:
            return port.answer(request)
        steered: Answer = route.handler(self.context, port, request)
        return steered

    def is_kept(self, request: Request) -> bool:
        """Whether one answer may serve several who ask at about the same time."""
        try:
            found = match(request.method, request.path)
        except RestError:
            return False
        return found is not None and found[0].kept

    def is_quick(self, request: Request) -> bool:
        """Whether the answer waits for nothing, so that it needs no thread."""
        try:
            found = match(request.method, request.path)
            if found is None:
                return True
            route, parameters = found
            return is_quick(route) and (
                "jobid" not in parameters
                or isinstance(self.context.directory.find(parameters["jobid"]), (LocalJob, EndedJob))
            )
        except RestError:
            return True


def is_quick(route: Route) -> bool:
    return route.quick
