"""The history server: archives of finished jobs behind the same interface and dashboard.

Folders are looked through again every few seconds. An archive that was deleted is forgotten if
`historyserver.archive.clean-expired-jobs` says so, as in Flink.
"""

from __future__ import annotations

import logging
import os
import threading

from penstock.checkpoint.filesystem import LocalFileSystem, filesystem_for
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import option
from penstock.common.time import to_millis
from penstock.rest.archive import archive_job, list_archives, read_archive
from penstock.rest.context import ServerContext
from penstock.rest.directory import JobDirectory
from penstock.rest.dispatch import read_job
from penstock.rest.server import JobServer
from penstock.rest.triggers import Operations

__all__ = ["HistoryServer"]

LOG = logging.getLogger(__name__)
_ALL = 1_000_000


class HistoryServer:
    """Serves the archives of some folders.

    Args:
        configuration: `historyserver.archive.fs.dir` (folders with commas), else `jobmanager.archive.fs.dir`;
            `historyserver.web.port` and `.address`; `historyserver.archive.fs.refresh-interval`.
        directory: The folder, if the configuration is not to decide.

    Raises:
        ValidationError: No folder is given or configured, or the one that is given is not there.
    """

    def __init__(self, configuration: Configuration, directory: str | None = None) -> None:
        given = (
            directory
            or configuration.get(option("historyserver.archive.fs.dir"))
            or configuration.get(option("jobmanager.archive.fs.dir"))
        )
        if not given:
            raise ValidationError(
                "no folder with archives of jobs",
                do="give one, or set historyserver.archive.fs.dir or jobmanager.archive.fs.dir",
            )
        self._folders = [part.strip() for part in str(given).split(",") if part.strip()]
        if directory:
            for folder in self._folders:
                _check_folder(folder)
        every = configuration.get(option("historyserver.archive.fs.refresh-interval"))
        self._seconds = to_millis(every) / 1000
        self._clean = bool(configuration.get(option("historyserver.archive.clean-expired-jobs")))
        self._known: set[str] = set()
        self._over = threading.Event()
        own = Configuration(configuration)
        values = configuration.to_dict()
        self._directory = JobDirectory(read_job, archive_job, _ALL)
        context = ServerContext(own, self._directory, Operations(60.0), history=True)
        if "rest.port" not in values and "rest.bind-port" not in values:
            context.port_key = "historyserver.web.port"
            own.set_string("rest.port", str(configuration.get(option(context.port_key))))
        if "rest.bind-address" not in values and "historyserver.web.address" in values:
            context.address_key = "historyserver.web.address"
            own.set_string("rest.bind-address", values[context.address_key])
        self._server = JobServer(context)

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> HistoryServer:
        self.refresh()
        self._server.start()
        self._tell_empty_folders()
        threading.Thread(target=self._look_again, name="penstock-history", daemon=True).start()
        return self

    def _tell_empty_folders(self) -> None:
        """One that is configured may come with the first job that ends; if it is mistyped, nobody would know."""
        for folder in self._folders:
            if not list_archives(folder):
                LOG.warning(
                    "there is no archive of a job in %s yet; it is looked through every %g s",
                    folder,
                    self._seconds,
                )

    def refresh(self) -> None:
        """Takes up what has come, and drops what has gone."""
        found: set[str] = set()
        for folder in self._folders:
            for job_id in list_archives(folder):
                found.add(job_id)
                if job_id not in self._known:
                    self._take(folder, job_id)
        if self._clean:
            for job_id in self._known - found:
                self._directory.forget_ended(job_id)
                self._known.discard(job_id)

    def _take(self, folder: str, job_id: str) -> None:
        try:
            answers = read_archive(folder, job_id)
            answers["/jobs/overview"]["jobs"][0]["state"]
        except (ValueError, KeyError, IndexError, TypeError, OSError) as error:
            LOG.warning("the archive of job %s in %s is left out: %s", job_id, folder, error)
        else:
            self._directory.remember(job_id, answers)
        self._known.add(job_id)

    def _look_again(self) -> None:
        while not self._over.wait(self._seconds):
            try:
                self.refresh()
            except Exception:
                LOG.warning("the archives could not be looked through", exc_info=True)

    def wait(self) -> None:
        """Until the process is interrupted."""
        while not self._over.wait(1.0):
            pass

    def stop(self) -> None:
        self._over.set()
        self._server.stop()


def _check_folder(folder: str) -> None:
    """
    Raises:
        ValidationError: It is not on this machine's disk; object stores have no folders that could be missing.
    """
    files, path = filesystem_for(folder)
    if isinstance(files, LocalFileSystem) and not os.path.isdir(path):
        raise ValidationError(
            f"there is no folder {path}",
            do="give the one that jobmanager.archive.fs.dir names where the jobs run",
        )
