"""Jars, which are Python programs here: upload, list, run, plan, delete. Only where `web.submit.enable` is on."""

from __future__ import annotations

import shlex
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.job_id import JobID
from penstock.rest.context import ServerContext
from penstock.rest.messages import Answer, Request, RestError, bad_parameter, not_found
from penstock.rest.uploads import Program, Uploads

_WHAT = "JarRunRequestBody"


def _uploads(context: ServerContext) -> Uploads:
    if context.uploads is None:
        raise not_found(
            "not supported: programs over REST, because they are only taken by a session (penstock cluster start) "
            "with web.submit.enable=true"
        )
    return context.uploads


def listed(context: ServerContext, request: Request) -> Answer:
    if context.uploads is None:
        return Answer({"address": request.base, "files": []})
    files = [
        {
            "id": program.id,
            "name": program.name,
            "uploaded": program.uploaded_ms,
            "entry": [{"name": program.name, "description": None}],
        }
        for program in context.uploads.listed()
    ]
    return Answer({"address": request.base, "files": files})


def upload(context: ServerContext, request: Request) -> Answer:
    """The HTTP layer has put the one file of the form into the body, its name into the query."""
    name = request.one("filename")
    if name is None:
        raise RestError(400, "Exactly 1 file must be sent, received 0.")
    program = _uploads(context).add(name, request.body)
    return Answer({"filename": program.path, "status": "success"})


def delete(context: ServerContext, request: Request) -> Answer:
    _uploads(context).delete(_program(context, request))
    return Answer({})


def _program(context: ServerContext, request: Request) -> Program:
    wanted = request.parameters["jarid"]
    program = _uploads(context).find(wanted)
    if program is None:
        raise not_found(f"Jar file {wanted} does not exist")
    return program


def run(context: ServerContext, request: Request) -> Answer:
    program = _program(context, request)
    arguments, settings = submission(request)
    job_id = _uploads(context).run(program, arguments, settings)
    return Answer({"jobid": job_id, "applicationId": job_id})


def plan(context: ServerContext, request: Request) -> Answer:
    program = _program(context, request)
    arguments, settings = submission(request)
    return Answer({"plan": _uploads(context).plan(program, arguments, settings)})


def submission(request: Request) -> tuple[list[str], dict[str, str]]:
    """Arguments and configuration of a program, from body and query; the body wins, as in Flink."""
    body = request.json(_WHAT)
    settings = _texts(body.get("flinkConfiguration"))
    parallelism = body.get("parallelism", request.integer("parallelism"))
    if parallelism is not None:
        if not isinstance(parallelism, int) or isinstance(parallelism, bool) or not 1 <= parallelism <= 2**15:
            raise bad_parameter("query", "parallelism", str(parallelism))
        settings["parallelism.default"] = str(parallelism)
    path = body.get("savepointPath", request.one("savepointPath"))
    if path is not None:
        settings["execution.state-recovery.path"] = _text(path)
    allow = body.get("allowNonRestoredState", request.one("allowNonRestoredState"))
    if allow is not None:
        settings["execution.state-recovery.ignore-unclaimed-state"] = str(allow).lower()
    mode = body.get("claimMode") or body.get("restoreMode")
    if mode is not None:
        settings["execution.state-recovery.claim-mode"] = _text(mode)
    if body.get("jobId") is not None:
        settings["$internal.pipeline.job-id"] = _job_id(body["jobId"])
    arguments = _arguments(body, request)
    if any("\x00" in each for each in (*arguments, *settings, *settings.values())):
        raise RestError(400, f"Request did not match expected format {_WHAT}.")
    return arguments, settings


def _arguments(body: dict[str, Any], request: Request) -> list[str]:
    """A list; or, as clients of Flink 1.x send them, one text that is cut as a shell would."""
    given = body.get("programArgsList", request.several("programArg") or [])
    text = body.get("programArgs")
    if "programArgsList" not in body and isinstance(text, str):
        try:
            given = shlex.split(text)
        except ValueError as error:
            raise RestError(
                400, f"Request did not match expected format {_WHAT}: programArgs: {error}."
            ) from None
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise RestError(400, f"Request did not match expected format {_WHAT}.")
    return given


def _texts(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RestError(400, f"Request did not match expected format {_WHAT}.")
    return {key: _text(each) for key, each in value.items()}


def _text(value: Any) -> str:
    if not isinstance(value, (str, int, float)):
        raise RestError(400, f"Request did not match expected format {_WHAT}.")
    return str(value)


def _job_id(value: Any) -> str:
    try:
        return JobID(value).to_hex_string()
    except ValidationError:
        raise RestError(400, f"Request did not match expected format {_WHAT}.") from None
