"""Cancel, stop, savepoint, checkpoint: what changes a job. Long ones are started and asked about."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.savepoint import SAVEPOINT_FILE
from penstock.checkpoint.storage import METADATA_FILE
from penstock.common.errors import ValidationError
from penstock.common.job_id import JobID
from penstock.rest.context import ServerContext
from penstock.rest.messages import Answer, Request, RestError, bad_parameter, not_found
from penstock.rest.ports import JobPort

_LONGEST_PATH = 4096


def cancel(context: ServerContext, job: JobPort, request: Request) -> Answer:
    """PATCH /jobs/:jobid. Answers at once; the job is CANCELLING until it is down."""
    mode = (request.one("mode") or "cancel").lower()
    if mode not in ("cancel", "stop"):
        raise bad_parameter("query", "mode", request.one("mode") or "")
    if mode == "stop":
        raise RestError(
            410,
            "The termination mode STOP has been removed. Use stop with a savepoint: POST /jobs/:jobid/stop.",
        )
    return cancel_job(context, job)


def cancel_job(context: ServerContext, job: JobPort) -> Answer:
    if not context.flag("web.cancel.enable"):
        raise RestError(403, "Cancelling jobs is switched off here (web.cancel.enable).")
    state = job.ended_as()
    if state == "CANCELED":
        return Answer({}, 202)
    if state is not None:
        raise RestError(
            409,
            f"Job cancellation failed because the job has already reached another terminal state ({state}).",
        )
    threading.Thread(target=job.cancel, name="penstock-rest-cancel", daemon=True).start()
    return Answer({}, 202)


def cancel_application(context: ServerContext, request: Request) -> Answer:
    return cancel_job(context, context.directory.find(request.parameters["applicationid"]))


def trigger_savepoint(context: ServerContext, job: JobPort, request: Request) -> Answer:
    body = request.json("SavepointTriggerRequestBody")
    target = _target(context, job, body, "target-directory")
    ends = _boolean(body, "cancel-job", "SavepointTriggerRequestBody")
    _check_format(body, "SavepointTriggerRequestBody")
    run = job.cancel_with_savepoint if ends else job.trigger_savepoint
    return _start(context, "savepoint", job, body, lambda: run(target), "SavepointTriggerRequestBody")


def stop(context: ServerContext, job: JobPort, request: Request) -> Answer:
    what = "StopWithSavepointRequestBody"
    body = request.json(what)
    target = _target(context, job, body, "targetDirectory")
    drain = _boolean(body, "drain", what)
    _check_format(body, what)
    return _start(context, "savepoint", job, body, lambda: job.stop_with_savepoint(target, drain), what)


def savepoint_status(context: ServerContext, job: JobPort, request: Request) -> Answer:
    return _status(context, "savepoint", job.job_id, request, lambda path: {"location": path})


def trigger_checkpoint(context: ServerContext, job: JobPort, request: Request) -> Answer:
    what = "CheckpointTriggerRequestBody"
    body = request.json(what)
    kind = body.get("checkpointType", "CONFIGURED")
    if kind not in ("CONFIGURED", "FULL", "INCREMENTAL", None):
        raise RestError(400, f"Request did not match expected format {what}.")
    return _start(context, "checkpoint", job, body, job.trigger_checkpoint, what)


def checkpoint_status(context: ServerContext, job: JobPort, request: Request) -> Answer:
    made = lambda number: {"checkpointId": number}  # noqa: E731
    return _status(context, "checkpoint", job.job_id, request, made, "failureCause")


def dispose(context: ServerContext, request: Request) -> Answer:
    """Deletes a savepoint."""
    what = "SavepointDisposalRequest"
    body = request.json(what)
    path = body.get("savepoint-path")
    if not isinstance(path, str) or not path:
        raise RestError(400, "Field savepoint-path must not be omitted or be null.")
    trigger = _trigger_id(body, what)
    context.operations.start("disposal", "", trigger, lambda: delete_savepoint(path))
    return Answer({"request-id": trigger})


def disposal_status(context: ServerContext, request: Request) -> Answer:
    return _status(context, "disposal", "", request, lambda _: {})


def delete_savepoint(path: str) -> None:
    """Removes the folder of a savepoint, and nothing else: without metadata it is none.

    Raises:
        ValidationError: There is no savepoint.
    """
    files, root = filesystem_for(path)
    root = root.rstrip("/").removesuffix(f"/{METADATA_FILE}")
    try:
        names = files.names(root)
    except (FileNotFoundError, NotADirectoryError):
        names = []
    if METADATA_FILE not in names or SAVEPOINT_FILE not in names:
        raise ValidationError(
            f"there is no savepoint at {path}", do="give the path that the savepoint was written to"
        )
    files.delete_tree(root)


def heartbeat(context: ServerContext, job: JobPort, request: Request) -> Answer:
    """Jobs here live with their program, not with a client that might go away: accepted, without effect."""
    request.json("JobClientHeartbeatRequestBody")
    return Answer({}, 202)


def _start(
    context: ServerContext, kind: str, job: JobPort, body: dict[str, Any], run: Callable[[], Any], what: str
) -> Answer:
    trigger = _trigger_id(body, what)
    state = job.ended_as()
    if state is not None and context.operations.find(kind, job.job_id, trigger) is None:
        raise RestError(
            409, f"Job {job.job_id} is not running: it is {state}, so no {kind} of it can be taken any more."
        )
    context.operations.start(kind, job.job_id, trigger, run)
    return Answer({"request-id": trigger}, 202)


def _status(
    context: ServerContext,
    kind: str,
    owner: str,
    request: Request,
    made: Callable[[Any], dict[str, Any]],
    cause: str = "failure-cause",
) -> Answer:
    trigger = request.parameters["triggerid"]
    operation = context.operations.find(kind, owner, trigger)
    if operation is None:
        of = f" for job {owner}" if owner else ""
        raise not_found(f"There is no {kind} operation with triggerId={trigger}{of}.")
    return Answer(operation.status(made, cause))


def _target(context: ServerContext, job: JobPort, body: dict[str, Any], name: str) -> str | None:
    target = body.get(name)
    if target is not None and not isinstance(target, (str, int, float)):
        raise RestError(400, f"Request did not match expected format: {name} is a text.")
    text = None if target is None else str(target)
    if text is not None and (len(text) > _LONGEST_PATH or "\x00" in text):
        raise RestError(400, f"Request did not match expected format: {name} is not a path.")
    if not text and not job.savepoint_directory():
        raise RestError(
            400,
            f"Config key [execution.checkpointing.savepoint-dir] is not set. Property [{name}] must be provided.",
        )
    return text


def _boolean(body: dict[str, Any], name: str, what: str) -> bool:
    value = body.get(name)
    if value not in (None, True, False, "true", "false"):
        raise RestError(400, f"Request did not match expected format {what}.")
    return value in (True, "true")


def _check_format(body: dict[str, Any], what: str) -> None:
    if body.get("formatType") not in (None, "CANONICAL", "NATIVE", "DEFAULT"):
        raise RestError(400, f"Request did not match expected format {what}.")


def _trigger_id(body: dict[str, Any], what: str) -> str:
    given = body.get("triggerId")
    if given is None:
        return uuid.uuid4().hex
    try:
        return JobID(given).to_hex_string()
    except (ValidationError, TypeError):
        raise RestError(400, f"Request did not match expected format {what}.") from None
