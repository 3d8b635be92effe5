"""Which job this is: the id under which its checkpoints lie, and whether an earlier run left off there.

Every run is a job of its own with an id that no other has, as in Flink, except that a program that is started again
after its driver died goes on where it was, as a Flink job under high availability does. It is recognised by its name
and its operators' uids: a small file in the checkpoint directory, named for these, has the id of the last run.

    <directory>/.<program>.run    the id of the run that is to be gone on with if it dies
    <directory>/<job id>/…        its checkpoints; `_ended` is among them when it is over and they are kept

A run that ended in an orderly way, by finishing, failing for good or being cancelled, is over: what it retained
stays where it is, and to go on from there one names the checkpoint (`penstock run --from-savepoint`). While a run is
alive it holds a lock, so a second start of the same program is another job.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import uuid
from dataclasses import dataclass
from typing import IO

import xxhash

from penstock.checkpoint.filesystem import FileSystem, filesystem_for
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.job_status import JobStatus
from penstock.common.storage_errors import writing_to
from penstock.graph.stream_graph import StreamGraph

LOG = logging.getLogger(__name__)
_ENDED_FILE = "_ended"


class _LastRun:
    """The file with the id of a program's last run."""

    def __init__(self, directory: str, program: str) -> None:
        self._files, root = _filesystem(directory)
        self._path = f"{root}/.{program}.run"

    def read(self) -> str | None:
        try:
            return self._files.read(self._path).decode()
        except FileNotFoundError:
            return None

    def write(self, job_id: str) -> None:
        self._files.write(self._path, job_id.encode())

    def delete(self) -> None:
        self._files.delete(self._path)


@dataclass
class JobIdentity:
    """A job id, held until `release`. `resumes`: look for a checkpoint of an earlier run."""

    job_id: str
    resumes: bool
    _lock: IO[str] | None = None
    _last_run: _LastRun | None = None

    def forget(self) -> None:
        """Nothing is left of the job, so nobody needs to find it."""
        if self._last_run is not None and self._last_run.read() == self.job_id:
            self._last_run.delete()

    def release(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._lock.name)
            self._lock.close()
            self._lock = None


def choose_identity(
    directory: str | None, fixed_id: str | None, job_name: str, graph: StreamGraph
) -> JobIdentity:
    """The id for a program about to start with its checkpoints under `directory`.

    Raises:
        ExternalSystemError: The directory cannot be written.
    """
    if directory is None:
        return JobIdentity(fixed_id or uuid.uuid4().hex, False)
    program = program_id(job_name, graph)
    last_run = _LastRun(directory, program)
    folder = _local_folder(directory)
    with writing_to(directory if folder is None else os.path.abspath(folder)):
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        if fixed_id:
            known = _told(directory, fixed_id)
        else:  # without a file the first run of a program had its id, before there were any
            known = _left_off(directory, last_run.read() or program, job_name)
        identity = JobIdentity(known or uuid.uuid4().hex, known is not None, None, last_run)
        if folder is not None:
            identity._lock = _try_lock(os.path.join(folder, f".{identity.job_id}.lock"))
            if identity._lock is None:
                return JobIdentity(uuid.uuid4().hex, False)
        if not fixed_id and known is None:
            last_run.write(identity.job_id)
    return identity


def program_id(job_name: str, graph: StreamGraph) -> str:
    """The same for the same program: its name and the uids of its operators."""
    return xxhash.xxh3_128_hexdigest("\x00".join([job_name, *(n.uid for n in graph.nodes)]).encode())


def _told(directory: str, fixed_id: str) -> str | None:
    """The id that somebody has chosen; None if a run with it has ended."""
    return None if _ENDED_FILE in _files_of(directory, fixed_id) else fixed_id


def _left_off(directory: str, last_run: str, job_name: str) -> str | None:
    """The last run if it died; one that has ended has said so, or has removed everything."""
    found = _files_of(directory, last_run)
    if _ENDED_FILE not in found:
        return last_run if found else None
    storage = CheckpointStorage(directory, last_run)
    files, root = _filesystem(directory)
    kept = storage.list_checkpoints()
    if kept and files.read(f"{root}/{last_run}/{_ENDED_FILE}").decode() == JobStatus.FAILED.name:
        LOG.warning(
            "job '%s' begins anew: its last run failed, and what it has put out stays. To go on from where that got "
            "to, start it from its checkpoint: penstock run -s %s (execution.state-recovery.path)",
            job_name,
            storage.checkpoint_path(max(kept)),
        )
    return None


def mark_ended(storage: CheckpointStorage, identity: JobIdentity, status: JobStatus, retain: bool) -> None:
    """Notes that a run ended in an orderly way, and removes what nobody asked to keep."""
    if status is JobStatus.FINISHED or not retain:
        storage.delete_job()
        identity.forget()
    else:
        note_end(storage, status)


def note_end(storage: CheckpointStorage, status: JobStatus) -> None:
    """Nobody is to go on with the job by himself; its checkpoints are kept."""
    storage.write_file(_ENDED_FILE, status.name.encode())


def _files_of(directory: str, job_id: str) -> list[str]:
    files, root = _filesystem(directory)
    with contextlib.suppress(FileNotFoundError):
        return files.names(f"{root}/{job_id}")
    return []


def _filesystem(directory: str) -> tuple[FileSystem, str]:
    files, root = filesystem_for(directory)
    return files, root.rstrip("/")


def _local_folder(directory: str) -> str | None:
    if "://" in directory and not directory.startswith("file://"):
        return None
    return directory.removeprefix("file://")


def _try_lock(path: str) -> IO[str] | None:
    handle = open(path, "w")  # noqa: SIM115 (held while the job runs)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    return handle
