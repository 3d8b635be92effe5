"""Runs jobs in child processes, without Spark: driver and tasks in one process that can be killed for real.

A server imports everything once and forks a child for each run, so a run costs what the job costs. It reads orders
from its input, a line of JSON each, and answers with the child's end. Faults that have struck are in the folder's
`struck`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pathlib
import pkgutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

from chaos import jobs
from chaos.faults import Fault, Striker
from penstock.common import points
from penstock.common.errors import PenstockError
from penstock.runtime import (
    compaction,
    coordinator,
    in_process,
    job_registry,
    progress,
    stage,
    submit,
    worker,
)
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.worker import LevelTask, WorkerState
from penstock.sql.streaming import jobs as sql_jobs

OK, FAILED = 0, 3


class Tormented(InProcessEpochs):
    """Tasks that run twice, and worker processes that are lost."""

    lost: frozenset[int] = frozenset()
    twice: frozenset[int] = frozenset()
    note: Any = None
    tasks = 0

    def _rows(self, task: LevelTask, rows: list[Any]) -> list[Any]:
        Tormented.tasks += 1
        number = Tormented.tasks
        if number in self.lost:
            Tormented.note(Fault("worker lost", "task", number))
            in_process.forget()
            raise OSError("the worker process was lost")
        if number in self.twice:
            # A second attempt somewhere else, which comes to its end and which nobody waits for.
            Tormented.note(Fault("task run twice", "task", number))
            here, worker.WORKER = worker.WORKER, WorkerState()
            super()._rows(task, rows)
            worker.WORKER = here
        return super()._rows(task, rows)


def _import_all() -> None:
    """What a job would import, so that children have it: the packages of both kinds of jobs."""
    for name in (
        "sql",
        "table",
        "delta",
        "runtime.tables",
        "connectors.filesystem",
        "connectors.file",
        "formats",
    ):
        package = importlib.import_module(f"penstock.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"penstock.{name}."):
            with contextlib.suppress(ImportError, PenstockError):
                importlib.import_module(module.name)
    for name in (
        "pandas",
        "pyarrow.compute",
        "pyarrow.csv",
        "pyarrow.parquet",
        "pyarrow.dataset",
        "penstock.datastream",
    ):
        importlib.import_module(name)


def serve() -> None:
    """Answers orders until its input ends."""
    _import_all()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run_child(order)
        _, status = os.waitpid(pid, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        sys.stdout.write(json.dumps({"code": code}) + "\n")
        sys.stdout.flush()


def _run_child(order: dict[str, Any]) -> None:
    """Never returns."""
    folder = pathlib.Path(order["folder"])
    code = FAILED
    try:
        log = os.open(folder / "job.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        _torment(folder, order)
        chosen = {**jobs.settings(folder, order["records"]), **order["settings"]}
        jobs.RUN[order["job"]](folder, order["numbers"], chosen)
        code = OK
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _torment(folder: pathlib.Path, order: dict[str, Any]) -> None:
    def note(fault: Fault) -> None:
        with (folder / "struck").open("a") as out:
            out.write(json.dumps(fault.as_json()) + "\n")

    Tormented.note = staticmethod(note)
    Tormented.lost, Tormented.twice = frozenset(order["lost"]), frozenset(order["twice"])
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, Tormented, about)

    submit.submit_job = sql_jobs.submit_job = here  # type: ignore[assignment]
    # What happens every so many epochs happens in a short job, too.
    coordinator.RETAIN_EVERY_EPOCHS, progress.SNAPSHOT_DELTAS = order["retain_every"], 3
    stage.INLINE_STATE_BYTES = order["inline_bytes"]
    _hurry_snapshots(frozenset(order["ended"]), note)
    striker = Striker([Fault(**f) for f in order["faults"]], note)
    if order["savepoint_at"]:
        striker = _taking_savepoint(striker, order["savepoint_at"])
    points.listen(striker)


def _hurry_snapshots(killed: frozenset[int], note: Any) -> None:
    """Processes that write snapshots take longer than these jobs: they are waited for, and some are killed."""
    look, started = compaction.Compactor.look, []

    def patient(self: Any, expiries: Any) -> Any:
        process = self._process
        if process is not None and process not in started:
            started.append(process)
            if len(started) in killed:
                note(Fault("snapshot process killed", "compaction", len(started)))
                process.kill()
            process.wait()
        return look(self, expiries)

    compaction.Compactor.look = patient  # type: ignore[method-assign]


def _taking_savepoint(striker: Striker, epoch: int) -> Any:
    """Also asks for a savepoint, after so many epochs, from a thread as a user would."""

    def ask() -> None:
        for job in job_registry.jobs():
            with contextlib.suppress(Exception):
                job.trigger_savepoint()

    def listener(point: points.Point) -> None:
        if point is points.Point.PLANNED and striker.reached[point.name] == epoch:
            threading.Thread(target=ask, daemon=True).start()
        striker(point)

    return listener


class Victims:
    """The server, as tests see it."""

    def __init__(self) -> None:
        here = pathlib.Path(__file__).parent
        root = here.parent.parent.parent
        path = os.pathsep.join([str(root), str(here.parent)])
        self._server = subprocess.Popen(
            [sys.executable, "-m", "chaos.victim"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
        )  # fmt: skip

    def run(
        self, job: str, folder: pathlib.Path, numbers: int, *, faults: list[Fault] | None = None,
        lost: list[int] | None = None, twice: list[int] | None = None, records: int = 40,
        savepoint_at: int = 0, settings: dict[str, str] | None = None, inline_bytes: int = 256 * 1024,
        retain_every: int = 3, ended: list[int] | None = None,
    ) -> int:  # fmt: skip
        """Runs a job until it ends or dies; answers its exit code, or minus the signal that has killed it."""
        order = {
            "job": job, "folder": str(folder), "numbers": numbers, "records": records,
            "faults": [f.as_json() for f in faults or []], "lost": lost or [], "twice": twice or [],
            "savepoint_at": savepoint_at, "settings": settings or {}, "inline_bytes": inline_bytes,
            "retain_every": retain_every, "ended": ended or [],
        }  # fmt: skip
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, "the server of victims has died"
        code: int = json.loads(answer)["code"]
        return code

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGKILL)
        self._server.wait(30)


@contextlib.contextmanager
def victims() -> Iterator[Victims]:
    server = Victims()
    try:
        yield server
    finally:
        server.close()


if __name__ == "__main__":
    serve()
