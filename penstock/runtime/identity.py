"""Which job this is: the id under which its checkpoints lie, and whether an earlier run left off there.

A program that is started again after its driver died goes on where it was, as a Flink job under high
availability does. It is recognised by its name and its operators' uids. A run that ended in an orderly way, by
finishing, failing for good or being cancelled, is over: what it retained stays where it is, the next run gets
an id of its own, and to go on from there one names the checkpoint (`penstock run --from-savepoint`). While a run
is alive it holds a lock, so a second start of the same program is a job of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import uuid
from dataclasses import dataclass
from typing import IO

import xxhash

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.job_status import JobStatus
from penstock.common.storage_errors import writing_to
from penstock.graph.stream_graph import StreamGraph

_ENDED_FILE = "_ended"


@dataclass
class JobIdentity:
    """A job id, held until `release`. `resumes`: look for a checkpoint of an earlier run."""

    job_id: str
    resumes: bool
    _lock: IO[str] | None = None

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
    program = fixed_id or program_id(job_name, graph)
    runs = (program if n == 0 else _hash(f"{program} run {n}") for n in itertools.count())
    job_id = next(run for run in runs if not _has_ended(directory, run))
    folder = _local_folder(directory)
    if folder is None:
        return JobIdentity(job_id, True)
    with writing_to(os.path.abspath(folder)):
        lock = _try_lock(os.path.join(folder, f".{job_id}.lock"))
    return JobIdentity(uuid.uuid4().hex, False) if lock is None else JobIdentity(job_id, True, lock)


def program_id(job_name: str, graph: StreamGraph) -> str:
    """The same for the same program: its name and the uids of its operators."""
    return _hash("\x00".join([job_name, *(n.uid for n in graph.nodes)]))


def _hash(text: str) -> str:
    return xxhash.xxh3_128_hexdigest(text.encode())


def mark_ended(storage: CheckpointStorage, status: JobStatus, retain: bool) -> None:
    """Notes that a run ended in an orderly way, and removes what nobody asked to keep."""
    if status is JobStatus.FINISHED or not retain:
        storage.delete_job()
    else:
        storage.write_file(_ENDED_FILE, status.name.encode())


def _has_ended(directory: str, job_id: str) -> bool:
    from penstock.checkpoint.filesystem import filesystem_for

    files, root = filesystem_for(directory)
    with contextlib.suppress(FileNotFoundError):
        return _ENDED_FILE in files.names(f"{root.rstrip('/')}/{job_id}")
    return False


def _local_folder(directory: str) -> str | None:
    if "://" in directory and not directory.startswith("file://"):
        return None
    return directory.removeprefix("file://")


def _try_lock(path: str) -> IO[str] | None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle = open(path, "w")  # noqa: SIM115 (held while the job runs)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    return handle
