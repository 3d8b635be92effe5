"""The programs of a session on disk, and jobs of its own: a JSON file each, written whole or not at all.

<session>/programs/<id>.json    what was submitted, which jobs it has, whether it still has to run
<session>/programs/<id>/        the program itself, if it was uploaded: uploads may be deleted while it runs
<session>/own_jobs/<job id>.json    a job that runs in the session's process
<session>/archives/<job id>     finished jobs, as Flink archives them
<session>/logs/<id>.log         what the program wrote
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

__all__ = ["LiveJob", "Loss", "ProgramRecord", "SessionFolder"]

LOG = logging.getLogger(__name__)
Record = TypeVar("Record")


@dataclass(frozen=True)
class Loss:
    """A process that ended in the middle of its jobs."""

    timestamp_ms: int
    reason: str


@dataclass
class LiveJob:
    """A job that has not ended, though the process that runs it may have."""

    answers: dict[str, Any]
    """What it told of itself when it started, by path."""
    checkpoints: str | None = None
    """The checkpoint directory, if it has one."""
    losses: list[Loss] = field(default_factory=list)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> LiveJob:
        return cls(**{**fields, "losses": [Loss(**each) for each in fields["losses"]]})


@dataclass
class ProgramRecord:
    """A program that was submitted."""

    id: str
    path: str
    arguments: list[str]
    settings: dict[str, str]
    folder: str
    jobs: list[str] = field(default_factory=list)
    running: bool = True
    restarts: int = 0
    durable: bool = False
    live: dict[str, LiveJob] = field(default_factory=dict)
    """Those of its jobs that have not ended, by id."""

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> ProgramRecord:
        live = {job_id: LiveJob.from_json(each) for job_id, each in fields.get("live", {}).items()}
        return cls(**{**fields, "live": live})


class SessionFolder:
    """Where a session keeps what must outlive it; only its owner may look."""

    def __init__(self, path: str) -> None:
        self.root = pathlib.Path(path).absolute()
        for name in ("programs", "own_jobs", "archives", "logs", "uploads"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        os.chmod(self.root, 0o700)

    @property
    def archives(self) -> str:
        return str(self.root / "archives")

    @property
    def uploads(self) -> str:
        return str(self.root / "uploads")

    @property
    def logs(self) -> str:
        return str(self.root / "logs")

    @property
    def description(self) -> pathlib.Path:
        """Tells others where the session is."""
        return self.root / "session.json"

    def log_of(self, program: str) -> str:
        return str(self.root / "logs" / f"{program}.log")

    def save(self, record: ProgramRecord) -> None:
        _write(self.root / "programs" / f"{record.id}.json", asdict(record))

    def remove(self, record: ProgramRecord) -> None:
        (self.root / "programs" / f"{record.id}.json").unlink(missing_ok=True)
        shutil.rmtree(self.root / "programs" / record.id, ignore_errors=True)

    def keep_copy(self, program: str, path: str) -> str:
        """Copies a program's file to where it stays as long as the program does."""
        folder = self.root / "programs" / program
        folder.mkdir(mode=0o700)
        return str(shutil.copy2(path, folder / os.path.basename(path)))

    def programs(self) -> Iterator[ProgramRecord]:
        return (record for _, record in _records(self.root / "programs", ProgramRecord.from_json))

    def save_own(self, job_id: str, live: LiveJob) -> None:
        _write(self.root / "own_jobs" / f"{job_id}.json", asdict(live))

    def remove_own(self, job_id: str) -> None:
        (self.root / "own_jobs" / f"{job_id}.json").unlink(missing_ok=True)

    def own_jobs(self) -> Iterator[tuple[str, LiveJob]]:
        return _records(self.root / "own_jobs", LiveJob.from_json)


def _write(path: pathlib.Path, fields: dict[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(fields, indent=1, default=str), encoding="utf-8")
    os.chmod(draft, 0o600)
    os.replace(draft, path)


def _records(folder: pathlib.Path, made: Callable[[dict[str, Any]], Record]) -> Iterator[tuple[str, Record]]:
    """What the files of a folder say, by their names."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield path.stem, made(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError, KeyError, OSError) as error:
            LOG.warning("%s is not readable and is left out: %s", path, error)
