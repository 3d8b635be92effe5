"""What handlers need beside the request: the jobs, the configuration, what is under way, and a way to stop."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.common.configuration import Configuration
from penstock.common.options import option
from penstock.rest.directory import JobDirectory
from penstock.rest.messages import RestError
from penstock.rest.triggers import Operations

if TYPE_CHECKING:
    from penstock.rest.uploads import Uploads

__all__ = ["ServerContext"]


@dataclass
class ServerContext:
    """One per server.

    Attributes:
        shut_down: Ends the whole session (DELETE /cluster); None if there is none to end.
        uploads: Programs that were uploaded; None if this server takes none.
        log_dir: Where log files lie that may be read.
        address_key: The option that says where the server listens, for errors.
        port_key: The option that says on which port.
    """

    configuration: Configuration
    directory: JobDirectory
    operations: Operations
    shut_down: Callable[[], None] | None = None
    uploads: Uploads | None = None
    log_dir: str | None = None
    history: bool = False
    address_key: str = "rest.bind-address"
    port_key: str = "rest.port"
    started: float = field(default_factory=time.time)
    _updated: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def one_update_of(self, job_id: str) -> Iterator[None]:
        """Nobody else changes what the job requires meanwhile.

        Raises:
            RestError: Somebody does already.
        """
        with self._lock:
            if job_id in self._updated:
                raise RestError(
                    409, f"Another update to the job [{job_id}] resource requirements is in progress."
                )
            self._updated.add(job_id)
        try:
            yield
        finally:
            with self._lock:
                self._updated.discard(job_id)

    def flag(self, key: str) -> bool:
        return bool(self.configuration.get(option(key)))

    @property
    def log_files(self) -> list[str]:
        if self.log_dir is None or not os.path.isdir(self.log_dir):
            return []
        return sorted(
            e.name for e in os.scandir(self.log_dir) if e.is_file() and e.name.endswith((".log", ".out"))
        )
