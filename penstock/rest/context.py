"""What handlers need beside the request: the jobs, the configuration, what is under way, and a way to stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.common.configuration import Configuration
from penstock.common.options import option
from penstock.rest.directory import JobDirectory
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
    """

    configuration: Configuration
    directory: JobDirectory
    operations: Operations
    shut_down: Callable[[], None] | None = None
    uploads: Uploads | None = None
    log_dir: str | None = None
    history: bool = False
    started: float = field(default_factory=time.time)

    def flag(self, key: str) -> bool:
        return bool(self.configuration.get(option(key)))

    @property
    def log_files(self) -> list[str]:
        if self.log_dir is None or not os.path.isdir(self.log_dir):
            return []
        return sorted(
            e.name for e in os.scandir(self.log_dir) if e.is_file() and e.name.endswith((".log", ".out"))
        )
