"""Metrics over several jobs."""

from __future__ import annotations

from penstock.common.errors import ValidationError
from penstock.common.job_id import JobID
from penstock.rest.context import ServerContext
from penstock.rest.handlers.executors import aggregations
from penstock.rest.messages import Answer, Request, bad_parameter
from penstock.rest.ports import JobPort
from penstock.rest.views import metrics as m


def all_job_metrics(context: ServerContext, request: Request) -> Answer:
    kinds = aggregations(request)
    chosen = request.several("jobs")
    for text in chosen or ():
        try:
            JobID(text)
        except ValidationError:
            raise bad_parameter("query", "jobs", text) from None
    wanted = request.several("get")
    ports = [port for port in context.directory.running() if chosen is None or port.job_id in chosen]
    values = [_values(port, wanted) for port in ports]
    return Answer(m.aggregated(values, wanted, kinds))


def _values(port: JobPort, wanted: list[str] | None) -> dict[str, object]:
    query = {} if wanted is None else {"get": tuple(wanted)}

    answer = port.answer(Request("GET", f"/jobs/{port.job_id}/metrics", query))
    return {each["id"]: _number(each.get("value")) for each in answer.body}


def _number(text: str | None) -> object:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return text
