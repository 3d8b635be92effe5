"""The session's side of its programs: starts their processes, hears of their jobs, starts again what was lost."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import penstock
from penstock.common.errors import JobEndedError, JobExecutionError, PenstockError, ValidationError
from penstock.rest.directory import JobDirectory
from penstock.rest.messages import Answer, Request, RestError
from penstock.rest.ports import JobPort
from penstock.rest.requirements import Bounds
from penstock.rest.session.channel import Channel, ChannelClosedError
from penstock.rest.session.lost_jobs import RestartingJob, failed_job, note_failure
from penstock.rest.session.store import LiveJob, Loss, ProgramRecord, SessionFolder
from penstock.runtime.history import Lifecycle, now_ms

__all__ = ["Programs", "RemoteJob"]

LOG = logging.getLogger(__name__)
_ANSWER_SECONDS = 30.0
_STATE_SECONDS = 2.0
_NOTICE_SECONDS = 5.0
_START_SECONDS = 300.0
_STOP_SECONDS = 30.0
_MOST_RESTARTS = 3
_LONGEST_SOCKET_PATH = 100
_LAST_LINES = 20
_OWN_FOLDER = str(pathlib.Path(penstock.__file__).parent.parent)


class RemoteJob:
    """A job in a program's process.

    Args:
        successor: Finds what answers for the job when the process has gone.
    """

    def __init__(
        self, job_id: str, channel: Channel, savepoints: str | None, successor: Callable[[JobPort], JobPort]
    ) -> None:
        self.job_id = job_id
        self._channel = channel
        self._savepoints = savepoints
        self._successor = successor

    def ended_as(self) -> str | None:
        """None too if the program does not say: it may hang, and is then to be cancelled."""
        try:
            state = str(self.overview_later(_STATE_SECONDS)()["state"])
        except (TimeoutError, PenstockError, RestError):
            return None
        return state if state in Lifecycle.ENDS else None

    def answer(self, request: Request) -> Answer:
        query = {name: list(values) for name, values in request.query.items()}
        try:
            return Answer(self._ask("read", _ANSWER_SECONDS, path=request.path, query=query))
        except ChannelClosedError:
            return self._successor(self).answer(request)

    def overview(self) -> dict[str, Any]:
        return self.overview_later()()

    def overview_later(self, timeout: float = _ANSWER_SECONDS) -> Callable[[], dict[str, Any]]:
        begun = self._channel.begin("overview", job=self.job_id)

        def answer() -> dict[str, Any]:
            try:
                found: dict[str, Any] = begun(timeout)
            except ChannelClosedError:
                return self._successor(self).overview()
            return found

        return answer

    def cancel(self) -> None:
        self._ask("cancel")

    def trigger_savepoint(self, directory: str | None) -> str:
        return str(self._ask("savepoint", directory=directory))

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> str:
        return str(self._ask("stop", directory=directory, drain=drain))

    def cancel_with_savepoint(self, directory: str | None) -> str:
        return str(self._ask("cancel-with-savepoint", directory=directory))

    def trigger_checkpoint(self) -> int:
        return int(self._ask("checkpoint"))

    def update_requirements(self, bounds: Bounds) -> None:
        self._ask("requirements", bounds={vertex: list(pair) for vertex, pair in bounds.items()})

    def savepoint_directory(self) -> str | None:
        return self._savepoints

    def _ask(self, question: str, timeout: float | None = None, **fields: Any) -> Any:
        return self._channel.ask(question, timeout, job=self.job_id, **fields)


class _Process:
    """A program that runs."""

    def __init__(self, record: ProgramRecord, popen: subprocess.Popen[bytes]) -> None:
        self.record = record
        self.popen = popen
        self.channel: Channel | None = None
        self.has_had_a_job = False
        self.first_job = threading.Event()
        """Set when a job runs, or when there will be none."""


class Programs:
    """All programs of a session.

    Args:
        folder: Where the session keeps what must outlive it.
        directory: The jobs of the server.
        settings: What programs are told when they come up: where Spark is.
        configuration: What every program's environments start from.
        forget_spark_jobs: Cancels what runs on Spark for a job whose process has gone.
    """

    def __init__(
        self,
        folder: SessionFolder,
        directory: JobDirectory,
        settings: Mapping[str, Any],
        configuration: Mapping[str, str],
        forget_spark_jobs: Callable[[str], None] = lambda job_id: None,
    ) -> None:
        self._folder = folder
        self._directory = directory
        self._settings = dict(settings)
        self._configuration = dict(configuration)
        self._forget_spark_jobs = forget_spark_jobs
        self._lock = threading.Lock()
        self._processes: dict[str, _Process] = {}
        self._restarting: dict[str, RestartingJob] = {}
        self._closing = False
        self._cancelling = False
        self._socket_folder: str | None = None
        self.socket_path = self._choose_socket()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def _choose_socket(self) -> str:
        path = str(self._folder.root / "control.sock")
        if len(path) > _LONGEST_SOCKET_PATH:
            self._socket_folder = tempfile.mkdtemp(prefix="penstock-session-")
            path = os.path.join(self._socket_folder, "control.sock")
        return path

    # -- life ------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Listens for programs, and starts those again that ran when the session ended."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket_path)
        before = os.umask(0o077)
        try:
            self._listening.bind(self.socket_path)
        finally:
            os.umask(before)
        self._listening.listen(128)
        threading.Thread(target=self._accept, name="penstock-programs", daemon=True).start()
        for record in list(self._folder.programs()):
            if record.running:
                self._start_again(record)

    def _start_again(self, record: ProgramRecord) -> None:
        LOG.info("program %s (%s) is started again", record.id, record.path)
        if len(record.jobs) == 1:
            record.settings["$internal.pipeline.job-id"] = record.jobs[0]
        else:  # one id is none for several; each job finds its own by what it is
            record.settings.pop("$internal.pipeline.job-id", None)
        for job_id, live in record.live.items():
            self._is_restarting(job_id, live)
        try:
            if not os.path.exists(record.path):
                raise FileNotFoundError(f"there is no program '{record.path}' any more")
            self._start(record)
        except OSError as error:
            LOG.warning("program %s cannot be started again: %s", record.id, error)
            self._give_up(record, f"the program cannot be started again: {error}")

    def _is_restarting(self, job_id: str, live: LiveJob) -> None:
        port = self._restarting.get(job_id)
        if port is None:
            port = self._restarting[job_id] = RestartingJob(job_id, live, lambda: self._cancel(job_id))
        port.refresh()
        self._directory.add(port)

    def _cancel(self, job_id: str) -> None:
        with contextlib.suppress(JobEndedError):
            self._directory.find(job_id).cancel()

    def close(self, cancel: bool) -> None:
        """Ends all programs.

        Args:
            cancel: Their jobs are cancelled, in an orderly way, and will not be started again.
        """
        self._closing, self._cancelling = True, cancel
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            if cancel and process.channel is not None:
                with contextlib.suppress(ChannelClosedError):
                    process.channel.tell("stop-all")
            elif not cancel:
                process.popen.kill()
        for process in processes:
            self._wait(process)
        self._listening.close()
        with contextlib.suppress(OSError):
            os.unlink(self.socket_path)
            if self._socket_folder is not None:
                os.rmdir(self._socket_folder)

    def _wait(self, process: _Process) -> None:
        try:
            process.popen.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            LOG.warning("program %s does not end by itself and is killed", process.record.id)
            process.popen.kill()
            process.popen.wait()

    # -- submitting ------------------------------------------------------------------------------------

    def launch(
        self, path: str, arguments: Sequence[str], settings: Mapping[str, str], folder: str | None = None
    ) -> str:
        """Starts a program; returns the id of its first job, once that runs.

        Raises:
            JobExecutionError: The program ended without one, or takes too long.
        """
        if not os.path.exists(path):
            raise ValidationError(f"there is no program '{path}'", do="give the path of a Python file")
        return self._launch(
            ProgramRecord(
                uuid.uuid4().hex, path, list(arguments), dict(settings), folder or str(self._folder.root)
            )
        )

    def launch_copy(self, path: str, arguments: Sequence[str], settings: Mapping[str, str]) -> str:
        """The same from a copy of the program, which is kept until it has ended."""
        program = uuid.uuid4().hex
        copy = self._folder.keep_copy(program, path)
        return self._launch(
            ProgramRecord(program, copy, list(arguments), dict(settings), str(self._folder.root))
        )

    def _launch(self, record: ProgramRecord) -> str:
        try:
            process = self._start(record)
        except OSError:
            self._folder.remove(record)
            raise
        if not process.first_job.wait(_START_SECONDS):
            process.popen.kill()
            raise JobExecutionError(f"{record.path} had no job running after {_START_SECONDS:.0f} s")
        if not record.jobs:
            raise JobExecutionError(f"{record.path} ended without a job:\n{self._last_lines(record)}")
        return record.jobs[0]

    def plan(self, path: str, arguments: Sequence[str], settings: Mapping[str, str]) -> dict[str, Any]:
        """The plan of a program's first job, from a process that ends before the job would start."""
        command = [sys.executable, "-m", "penstock.cli.program_plan", path, *arguments]
        told = self._told({**self._configuration, **settings})
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_START_SECONDS, env={**os.environ, **told}
        )
        try:
            found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            raise JobExecutionError(f"{path} has no plan:\n{done.stderr[-2000:]}") from None
        return found

    def _start(self, record: ProgramRecord) -> _Process:
        self._folder.save(record)
        environment = {
            **os.environ,
            **self._told({**self._configuration, **record.settings}),
            "PENSTOCK_SESSION_SOCKET": self.socket_path,
            "PENSTOCK_SESSION_PROGRAM": record.id,
        }
        with open(self._folder.log_of(record.id), "ab") as log:
            popen = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli.program_process", record.path, *record.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=record.folder,
                env=environment,
                start_new_session=True,
            )
        process = _Process(record, popen)
        with self._lock:
            self._processes[record.id] = process
        threading.Thread(target=self._notice_end, args=(process,), daemon=True).start()
        return process

    def _told(self, settings: Mapping[str, str]) -> dict[str, str]:
        places = [_OWN_FOLDER, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        return {
            "PENSTOCK_PROGRAM_SETTINGS": json.dumps(dict(settings)),
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(places)),  # the same penstock as here
        }

    def _last_lines(self, record: ProgramRecord) -> str:
        with open(self._folder.log_of(record.id), encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-_LAST_LINES:])

    # -- processes -------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            _Visitor(self, connection)

    def _notice_end(self, process: _Process) -> None:
        """Waits for the end of a process; a program that was lost in the middle of a job may be started again."""
        code = process.popen.wait()
        record = process.record
        with self._lock:
            self._processes.pop(record.id, None)
        process.first_job.set()
        if self._closing and not self._cancelling and code != 0 and record.live:
            return  # it ran until the session ended: the next session starts it again
        for job_id in record.live:
            self._forget_spark_jobs(job_id)
        if record.live and record.durable and record.restarts < _MOST_RESTARTS and not self._closing:
            record.restarts += 1
            _note_loss(record, self._how_it_ended(process, code))
            self._start_again(record)
        else:
            self._give_up(record, self._how_it_ended(process, code))

    def _successor(self, gone: JobPort) -> JobPort:
        """What is in the directory now; the end of a process is noticed a moment after its channel is closed.

        Raises:
            ChannelClosedError: Nobody has noticed.
        """
        until = time.monotonic() + _NOTICE_SECONDS
        while (found := self._directory.find(gone.job_id)) is gone:
            if self._closing or time.monotonic() > until:
                raise ChannelClosedError(f"the program of job {gone.job_id} has ended")
            time.sleep(0.01)
        return found

    def _how_it_ended(self, process: _Process, code: int) -> str:
        if process.has_had_a_job:
            return _how(code)
        return f"{_how(code)}, before its job ran again:\n{self._last_lines(process.record)}"

    def _give_up(self, record: ProgramRecord, reason: str) -> None:
        """The program is over; jobs that it has not ended have failed."""
        _note_loss(record, reason)
        for job_id, live in record.live.items():
            note_failure(job_id, live)
            self._directory.end(job_id, failed_job(live))
            self._is_over(job_id)
        self._folder.remove(record)

    def _is_over(self, job_id: str) -> None:
        """The job is not restarting any more."""
        port = self._restarting.pop(job_id, None)
        if port is not None:
            port.over.set()

    # -- questions of programs -------------------------------------------------------------------------

    def hello(self, program: str, channel: Channel) -> dict[str, Any]:
        with self._lock:
            process = self._processes.get(program)
            if process is None:
                raise ValidationError(f"this session has no program {program}")
            process.channel = channel
        losses = {
            job_id: [asdict(loss) for loss in live.losses] for job_id, live in process.record.live.items()
        }
        return {**self._settings, "losses": losses}

    def started(self, program: str, fields: Mapping[str, Any]) -> None:
        process = self._processes[program]
        job_id = str(fields["job"])
        record = process.record
        before = record.live.get(job_id)
        record.durable = fields["checkpoints"] is not None
        record.running = True
        losses = before.losses if before is not None else []
        record.live[job_id] = LiveJob(fields["answers"], fields["checkpoints"], losses)
        if job_id not in record.jobs:
            record.jobs.append(job_id)
        self._folder.save(record)
        assert process.channel is not None
        self._directory.add(RemoteJob(job_id, process.channel, fields.get("savepoints"), self._successor))
        self._is_over(job_id)
        process.has_had_a_job = True
        process.first_job.set()
        if self._cancelling:
            process.channel.tell("stop-all")

    def ended(self, program: str, fields: Mapping[str, Any]) -> None:
        job_id = str(fields["job"])
        process = self._processes.get(program)
        if process is not None:
            process.record.live.pop(job_id, None)
            if not process.record.live:
                process.record.running = False
            self._folder.save(process.record)
        self._directory.end(job_id, fields["archive"])


class _Visitor:
    """A connection: a program, or a command line that submits one."""

    def __init__(self, programs: Programs, connection: socket.socket) -> None:
        self._programs = programs
        self._program: str | None = None
        self._channel = Channel(connection, self._handle)
        self._channel.start()  # from here on questions may come

    def _handle(self, question: str, fields: Mapping[str, Any]) -> Any:
        if question == "submit":
            path, folder = str(fields["path"]), str(fields["folder"])
            return self._programs.launch(path, fields["arguments"], fields["settings"], folder)
        if question == "hello":
            self._program = str(fields["program"])
            return self._programs.hello(self._program, self._channel)
        if self._program is None:
            raise ValidationError("nobody has introduced himself on this connection")
        if question == "started":
            return self._programs.started(self._program, fields)
        if question == "ended":
            return self._programs.ended(self._program, fields)
        raise ValidationError(f"nobody knows what '{question}' is")


def _note_loss(record: ProgramRecord, reason: str) -> None:
    loss = Loss(now_ms(), reason)
    for live in record.live.values():
        live.losses.append(loss)


def _how(code: int) -> str:
    """
    >>> _how(-9), _how(3)
    ('the process of the program was killed by SIGKILL', 'the program left with exit code 3')
    """
    if code < 0:
        return f"the process of the program was killed by {signal.Signals(-code).name}"
    return f"the program left with exit code {code}"
