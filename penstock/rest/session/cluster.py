"""A session from its start to its end: Spark, the server, the programs, and a file that says where all that is."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import option
from penstock.common.secrets import is_secret
from penstock.rest.archive import list_archives, read_archive
from penstock.rest.server import JobServer, make_context
from penstock.rest.session.own_jobs import OwnJobs
from penstock.rest.session.programs import Programs
from penstock.rest.session.store import SessionFolder
from penstock.rest.uploads import Uploads
from penstock.runtime.history import now_ms

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

__all__ = ["Session", "default_folder", "read_description"]

LOG = logging.getLogger(__name__)
_REMEMBERED = 50
_OF_THE_SERVER = ("rest.", "web.", "security.", "penstock.rest.", "penstock.session.", "jobmanager.")
_OF_JOBS_TOO = (
    "rest.flamegraph.enabled", "web.adaptive-scheduler.rescale-history.size", "web.checkpoints.history",
    "web.exception-history-size",
)  # fmt: skip
"""What a job keeps for the server is kept by the program that runs it."""


def default_folder(configuration: Configuration) -> str:
    """`penstock.session.dir`, else a folder among the user's state."""
    given = configuration.get(option("penstock.session.dir"))
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return str(given or os.path.join(state, "penstock", "session"))


def read_description(folder: str) -> dict[str, Any] | None:
    """Where the session of a folder is; None if none runs there."""
    try:
        with open(os.path.join(folder, "session.json"), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        os.kill(int(found["pid"]), 0)
    except (OSError, ValueError, KeyError):
        return None
    return found


class Session:
    """Everything of a session in its own process.

    Args:
        start_spark: Starts the application and tells where its JVM listens; None: programs bring their own.
        extra: Routes that the session's server answers, too: those of the SQL gateway.
        close_extra: Called first when the session ends, and ends what these have begun for others.
    """

    def __init__(
        self,
        configuration: Configuration,
        folder: str,
        start_spark: Callable[[Configuration], tuple[int, str]] | None,
        forget_spark_jobs: Callable[[str], None] = lambda job_id: None,
        extra: Sequence[BaseRoute] = (),
        close_extra: Callable[[], None] = lambda: None,
    ) -> None:
        self._configuration = configuration
        self._extra = extra
        self._close_extra = close_extra
        self._folder = SessionFolder(folder)
        self._own_jobs = OwnJobs(self._folder)
        self._start_spark = start_spark
        self._forget = forget_spark_jobs
        self._over = threading.Event()
        self._cancel_jobs = False
        self._lock: IO[str] | None = None
        self.server: JobServer | None = None
        self.programs: Programs | None = None

    def start(self) -> Session:
        """Comes up with the jobs that ran when the last session of the folder ended.

        Raises:
            ValidationError: A session runs there already, or the server cannot be opened.
        """
        self._lock = self._claim()
        context = make_context(
            self._configuration,
            self._folder.archives,
            shut_down=lambda: self.end(cancel_jobs=True),
            log_dir=self._configuration.get(option("web.log.path")) or self._folder.logs,
        )
        self.server = JobServer(context, self._extra)
        settings = self._spark_settings()
        given = self._configuration.to_dict()
        inherited = {
            key: value
            for key, value in given.items()
            if key in _OF_JOBS_TOO or not key.startswith(_OF_THE_SERVER)
        }
        self.programs = Programs(self._folder, context.directory, settings, inherited, self._forget)
        if context.flag("web.submit.enable"):
            folder = self._configuration.get(option("web.upload.dir")) or self._folder.uploads
            context.uploads = Uploads(folder, self.programs)
        self._remember(context.directory.remember)
        self._own_jobs.open(context.directory.end)
        self.server.start()
        self.programs.open()
        self._describe()
        return self

    def _claim(self) -> IO[str]:
        lock = open(self._folder.root / ".lock", "w")  # noqa: SIM115 (held while the session runs)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            known = read_description(str(self._folder.root)) or {}
            raise ValidationError(
                f"a session runs already, at {known.get('url', 'an address it has not told yet')}",
                where=str(self._folder.root),
                do="use it, end it with `penstock cluster stop`, or give another folder (penstock.session.dir)",
            ) from None
        return lock

    def _spark_settings(self) -> dict[str, Any]:
        if self._start_spark is None:
            return {}
        port, secret = self._start_spark(self._configuration)
        return {"gateway": {"port": port, "secret": secret}}

    def _remember(self, remember: Callable[[str, dict[str, Any]], None]) -> None:
        for job_id in list_archives(self._folder.archives)[-_REMEMBERED:]:
            try:
                remember(job_id, read_archive(self._folder.archives, job_id))
            except (ValueError, KeyError, OSError) as error:
                LOG.warning("the archive of job %s is left out: %s", job_id, error)

    def _describe(self) -> None:
        assert self.server is not None and self.programs is not None
        content = {
            "url": self.server.url,
            "pid": os.getpid(),
            "socket": self.programs.socket_path,
            "started": now_ms(),
            "configuration": {k: v for k, v in self._configuration.to_dict().items() if not is_secret(k)},
        }
        draft = self._folder.description.with_suffix(".draft")
        draft.write_text(json.dumps(content), encoding="utf-8")
        os.chmod(draft, 0o600)
        os.replace(draft, self._folder.description)

    def end(self, cancel_jobs: bool = False) -> None:
        """Lets `wait` return. Jobs are cancelled, or left for the next session of the folder to go on with."""
        self._cancel_jobs = self._cancel_jobs or cancel_jobs
        self._over.set()

    def wait(self) -> None:
        """Until somebody ends the session; then takes everything down."""
        while not self._over.wait(1.0):
            pass
        time.sleep(0.1)  # the answer to the request that ends the session is still to be sent
        self.close()

    def close(self) -> None:
        self._folder.description.unlink(missing_ok=True)
        self._close_extra()
        self._own_jobs.close(self._cancel_jobs)
        if self.programs is not None:
            self.programs.close(self._cancel_jobs)
        if self.server is not None:
            self.server.stop()
        if self._lock is not None:
            self._lock.close()

    def end_on_signals(self) -> None:
        """SIGTERM and SIGINT end the session and leave its jobs to the next one."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.end())
